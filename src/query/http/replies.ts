import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { chargeAnswer } from '../../platform/http-listener.ts'
import type { AnswerText, NoAnswer } from '../question.ts'

const JSON_TYPE = 'application/json'
/** Kept, but asked for again each time; with an etag that costs little. */
const REVALIDATE = { 'cache-control': 'no-cache' }

/** What an answer holds at most that is made as it is read: the pieces under way to it, at two bytes a character. */
const WINDOW_BYTES = 512 * 1024

interface TextHeaders {
  readonly etag: string | undefined
  readonly type?: string
  /** The text has a character a byte. */
  readonly binary?: boolean
}

/** Answers with the text as it is made, no faster than the caller reads. Rejects when it was cut short. */
export async function sendText(
  response: ServerResponse,
  text: AnswerText,
  { etag, type = JSON_TYPE, binary = false }: TextHeaders,
): Promise<void> {
  const { whole } = text
  if (!chargeAnswer(response, whole?.length ?? WINDOW_BYTES)) {
    text.cancel()
    response.setHeader('retry-after', '1')
    sendFailure(response, 'busy', 'too many answers are waiting to be read; ask again in a second')
    return
  }
  const body = whole === undefined ? undefined : binary ? Buffer.from(whole, 'latin1') : whole
  response.writeHead(200, {
    'content-type': type,
    ...REVALIDATE,
    ...(etag !== undefined && { etag }),
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
  })
  if (response.req.method === 'HEAD') {
    text.cancel()
    response.end()
    return
  }
  if (body !== undefined) {
    response.end(body)
    return
  }
  try {
    const pieces = binary ? inBytes(text) : text
    await pipeline(Readable.from(pieces, { objectMode: true, highWaterMark: 1 }), response)
  } finally {
    text.cancel()
  }
}

async function* inBytes(text: AnswerText): AsyncGenerator<Buffer> {
  for await (const chunk of text) yield Buffer.from(chunk, 'latin1')
}

/** Says that the caller has the answer already. */
export function sendNotModified(response: ServerResponse, etag: string): void {
  response.writeHead(304, { ...REVALIDATE, etag })
  response.end()
}

/** Answers with a text that is at hand. */
export function sendBody(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Answers `{"error":{"code","message"}}`, with a message of its own where one is given. */
export function sendFailure(
  response: ServerResponse,
  failure: Failure,
  message = FAILURES[failure].message,
): void {
  const { status, code } = FAILURES[failure]
  if (failure === 'methodNotAllowed') response.setHeader('allow', 'GET, HEAD')
  sendBody(response, status, JSON_TYPE, `${JSON.stringify({ error: { code, message } })}\n`)
}

/** Why a request has no answer. */
export type Failure =
  | NoAnswer
  | 'malformedCpid'
  | 'badLimit'
  | 'badState'
  | 'badTime'
  | 'badText'
  | 'badSpanId'
  | 'badTraceId'
  | 'badParameter'
  | 'noReference'
  | 'nothingToFind'
  | 'unauthenticated'
  | 'unknownHost'
  | 'crossSite'
  | 'unknownPath'
  | 'methodNotAllowed'
  | 'internal'
  | 'busy'

/** What a caller reads: the only place that knows status codes and messages of the API. */
export const FAILURES: Readonly<Record<Failure, { status: number; code: string; message: string }>> = {
  malformedCpid: {
    status: 400,
    code: 'malformed_cpid',
    message:
      'the CPID in the path is not a UUID or is all zeros; write its 32 hex digits, with or without dashes',
  },
  badLimit: { status: 400, code: 'bad_limit', message: 'limit must be a whole number from 1 to 10000' },
  badState: { status: 400, code: 'bad_state', message: 'state must be open or settled' },
  badTime: {
    status: 400,
    code: 'bad_time',
    message: 'from and to must be RFC 3339 times such as 2026-01-31T08:00:00Z; write a + as %2B',
  },
  badText: { status: 400, code: 'bad_text', message: 'a text to look for may have at most 1024 characters' },
  badSpanId: {
    status: 400,
    code: 'bad_span_id',
    message: 'the span id in the path must be 16 hex digits, as in an answer of /api/v1/cascades/<root>',
  },
  badTraceId: {
    status: 400,
    code: 'bad_trace_id',
    message: 'trace must be 32 hex digits, as in an answer of /api/v1/cascades/<root>',
  },
  badParameter: {
    status: 400,
    code: 'bad_parameter',
    message: 'a parameter is not understood; /api/v1/openapi.json lists those of each path',
  },
  noReference: {
    status: 400,
    code: 'no_reference',
    message: 'write ref=, an object such as apps/v1/deployments/default/web, the beginning of one, or a name',
  },
  nothingToFind: {
    status: 400,
    code: 'nothing_to_find',
    message: "write q=, a CPID, at least its first eight digits, or a part of an object's name",
  },
  badCursor: {
    status: 400,
    code: 'bad_cursor',
    message: 'after must be the "next" of an earlier answer from the same path',
  },
  unauthenticated: {
    status: 401,
    code: 'unauthenticated',
    message:
      'show a credential that extensions::cpid_query::auth knows, in the header that WWW-Authenticate is about',
  },
  unknownHost: {
    status: 403,
    code: 'unknown_host',
    message:
      'this server does not go by the name in the Host header; call it by its address, or list the name under ' +
      'extensions::cpid_query::allowed_hosts',
  },
  crossSite: {
    status: 403,
    code: 'cross_site',
    message:
      'a page of another origin asked, led here or would show this inside itself; list its origin under ' +
      'extensions::cpid_query::cors::allowed_origins to let it ask, and write the address into the browser to read it',
  },
  unknown: {
    status: 404,
    code: 'unknown_cpid',
    message:
      'no mergelog, span or log has named this CPID; check it, and whether its sender reaches Causeway',
  },
  unknownSpan: {
    status: 404,
    code: 'unknown_span',
    message:
      'the cascade has no span with this id; leave trace out to look in all its traces, and check the id, which was ' +
      'pruned if it was right before',
  },
  unknownTrace: {
    status: 404,
    code: 'unknown_trace',
    message: 'no trace with this id was sent out; check it, or find its cascade with /api/v1/find?q=<cpid>',
  },
  unknownPath: {
    status: 404,
    code: 'unknown_path',
    message:
      'there is nothing at this path; /api/v1/openapi.json lists the paths, such as /api/v1/cascades, ' +
      '/api/v1/cpids/<cpid>/related or /api/v1/find?q=<name>',
  },
  methodNotAllowed: { status: 405, code: 'method_not_allowed', message: 'use GET' },
  pruned: {
    status: 410,
    code: 'pruned_cpid',
    message: 'retention removed this CPID; raise connectors::cpid::retention to keep CPIDs longer',
  },
  busy: {
    status: 503,
    code: 'busy',
    message: 'too many passwords are being checked; ask again in a second',
  },
  internal: {
    status: 500,
    code: 'internal',
    message: 'the question could not be answered; see the log of Causeway, or ask again',
  },
}

const ETAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g
const MOST = 100

/** The entity tags of an If-None-Match header (RFC 9110, section 13.1.2). */
export function readEtags(header: string | undefined): string[] {
  return (header?.match(ETAG) ?? []).slice(0, MOST)
}
