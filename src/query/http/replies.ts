import type { ServerResponse } from 'node:http'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import {
  constants,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
  type ZlibOptions,
  type ZstdOptions,
} from 'node:zlib'
import { chargeAnswer } from '../../platform/http-listener.ts'
import type { AnswerText } from '../question.ts'

type Coding = 'zstd' | 'gzip'

/** A low level: an answer is read once, so speed matters more than size. Node's thread pool does the work. */
const GZIP: ZlibOptions = { level: 4 }
const ZSTD: ZstdOptions = {
  params: { [constants.ZSTD_c_compressionLevel]: 2, [constants.ZSTD_c_windowLog]: 19 },
}
/** The most answers that are compressed at the same time, each with up to 2 MiB; others are sent uncompressed. */
const MOST_AT_ONCE = 8
/** A shorter answer fits into one packet uncompressed. */
const LEAST = 1_400

const gzipped = promisify(gzip) as (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>
const zstdCompressed = promisify(zstdCompress) as (bytes: Buffer, options: ZstdOptions) => Promise<Buffer>

const PREFERRED: readonly Coding[] = ['zstd', 'gzip']
const ITEM = /^([^;]+?)\s*(?:;\s*q=([01](?:\.\d{0,3})?))?$/i

/**
 * The content coding for an Accept-Encoding header (RFC 9110, section 12.5.3); undefined for none. Of codings with equal weight, the
 * fastest one.
 */
export function codingFor(header: string | undefined): Coding | undefined {
  const weights = new Map<string, number>()
  for (const item of (header ?? '').toLowerCase().split(',')) {
    const [, name, weight = '1'] = ITEM.exec(item.trim()) ?? []
    if (name !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, Number(weight))
  }
  const anything = weights.get('*') ?? 0
  const weightOf = (name: string): number => weights.get(name) ?? anything
  const plain = weights.get('identity') ?? 0
  let best: Coding | undefined
  for (const coding of PREFERRED) {
    const weight = weightOf(coding)
    if (weight > 0 && weight >= plain && weight > (best === undefined ? 0 : weightOf(best))) best = coding
  }
  return best
}

/** Compresses a bounded number of answers at the same time. */
class AnswerCoders {
  #atOnce = 0

  /** A compressing stream; undefined if the answer is to be sent uncompressed. Pipe it: it counts until it is closed. */
  stream(coding: Coding | undefined): Transform | undefined {
    if (coding === undefined || this.#atOnce >= MOST_AT_ONCE) return undefined
    this.#atOnce++
    const coder = coding === 'zstd' ? createZstdCompress(ZSTD) : createGzip(GZIP)
    return coder.once('close', () => this.#atOnce--)
  }

  /** A whole answer, compressed; undefined if it is to be sent uncompressed. */
  async whole(coding: Coding | undefined, bytes: Buffer): Promise<Buffer | undefined> {
    if (coding === undefined || bytes.length < LEAST || this.#atOnce >= MOST_AT_ONCE) return undefined
    this.#atOnce++
    try {
      return await (coding === 'zstd' ? zstdCompressed(bytes, ZSTD) : gzipped(bytes, GZIP))
    } finally {
      this.#atOnce--
    }
  }
}

export const JSON_TYPE = 'application/json'
/** Clients may cache an answer, and have to revalidate it by its ETag. */
const REVALIDATE = { 'cache-control': 'no-cache' }

/** The most memory of a streamed answer: its unread pieces, at two bytes a character. */
const WINDOW_BYTES = 512 * 1024

const coders = new AnswerCoders()

interface TextHeaders {
  readonly etag: string | undefined
  readonly type?: string
  /** Whether each character of the text is a byte. */
  readonly binary?: boolean
}

/** Streams the text at the speed of the client, compressed if the client accepts that. Rejects when the answer is cut short. */
export async function sendText(
  response: ServerResponse,
  text: AnswerText,
  { etag, type = JSON_TYPE, binary = false }: TextHeaders,
): Promise<void> {
  const { whole } = text
  const coding = codingFor(response.req.headers['accept-encoding']?.toString())
  if (!chargeAnswer(response, whole?.length ?? WINDOW_BYTES)) {
    text.cancel()
    response.setHeader('retry-after', '1')
    sendFailure(response, 'busy', 'too many answers are waiting to be read; ask again in a second')
    return
  }
  response.appendHeader('vary', 'accept-encoding')
  const headers = { 'content-type': type, ...REVALIDATE, ...(etag !== undefined && { etag }) }
  if (whole !== undefined) {
    const bytes = Buffer.from(whole, binary ? 'latin1' : 'utf8')
    const coded = await coders.whole(coding, bytes)
    response.writeHead(200, {
      ...headers,
      ...(coded !== undefined && { 'content-encoding': coding }),
      'content-length': (coded ?? bytes).length,
    })
    response.end(response.req.method === 'HEAD' ? undefined : (coded ?? bytes))
    return
  }
  const coder = coders.stream(coding)
  response.writeHead(200, { ...headers, ...(coder !== undefined && { 'content-encoding': coding }) })
  if (response.req.method === 'HEAD') {
    coder?.destroy()
    text.cancel()
    response.end()
    return
  }
  try {
    const pieces = Readable.from(binary ? inBytes(text) : text, { objectMode: true, highWaterMark: 1 })
    await (coder === undefined ? pipeline(pieces, response) : pipeline(pieces, coder, response))
  } finally {
    text.cancel()
  }
}

async function* inBytes(text: AnswerText): AsyncGenerator<Buffer> {
  for await (const chunk of text) yield Buffer.from(chunk, 'latin1')
}

/** Answers 304 Not Modified. */
export function sendNotModified(response: ServerResponse, etag: string): void {
  response.appendHeader('vary', 'accept-encoding')
  response.writeHead(304, { ...REVALIDATE, etag })
  response.end()
}

export function sendBody(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Answers `{"error":{"code","message"}}`. `message` overrides the default of the failure. */
export function sendFailure(
  response: ServerResponse,
  failure: Failure,
  message = FAILURES[failure].message,
): void {
  const { status, code } = FAILURES[failure]
  if (failure === 'methodNotAllowed') response.setHeader('allow', 'GET, HEAD')
  sendBody(response, status, JSON_TYPE, `${JSON.stringify({ error: { code, message } })}\n`)
}

/** The only table of the status codes and messages of the API. */
export const FAILURES = {
  malformedCpid: {
    status: 400,
    code: 'malformed_cpid',
    message:
      'the CPID in the path is not a UUID or is all zeros; write its 32 hex digits, with or without dashes',
  },
  badLimit: { status: 400, code: 'bad_limit', message: 'limit must be a whole number from 1 to 10000' },
  badCause: { status: 400, code: 'bad_cause', message: 'cause must be operator or self' },
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
  noText: {
    status: 400,
    code: 'no_text',
    message: 'write contains=, a text that spans contain',
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
      'show a credential that extensions::cpid_query::auth accepts, in the header that WWW-Authenticate names',
  },
  unknownHost: {
    status: 403,
    code: 'unknown_host',
    message:
      'the name in the Host header is not allowed; use the address of this server, or list the name under ' +
      'extensions::cpid_query::allowed_hosts',
  },
  crossSite: {
    status: 403,
    code: 'cross_site',
    message:
      'a page of another origin sent this request, linked here or embeds this page; list its origin under ' +
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
  grpcAlone: {
    status: 404,
    code: 'grpc_alone',
    message: 'this port answers gRPC alone; HTTP is answered at extensions::cpid_query::endpoint',
  },
  methodNotAllowed: { status: 405, code: 'method_not_allowed', message: 'use GET' },
  pruned: {
    status: 410,
    code: 'pruned_cpid',
    message: 'retention removed this CPID; raise connectors::cpid::retention to keep CPIDs longer',
  },
  archived: {
    status: 404,
    code: 'archived',
    message:
      'this Causeway does not hold it, and the archive keeps no spans and log records as they were received; ask the Causeway that /api/v1/cascades ' +
      'names in `causeway`, or the backend for the trace id that is there',
  },
  archiveSilent: {
    status: 503,
    code: 'archive_silent',
    message:
      'this Causeway does not hold this CPID, and the archive that may know it does not answer; see to ' +
      'extensions::cpid_query::archive, and ask again',
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
} satisfies Readonly<Record<string, { status: number; code: string; message: string }>>

/** A failure of the API. */
export type Failure = keyof typeof FAILURES

const ETAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g
const MOST = 100

/** The entity tags of an If-None-Match header (RFC 9110, section 13.1.2). */
export function readEtags(header: string | undefined): string[] {
  return (header?.match(ETAG) ?? []).slice(0, MOST)
}
