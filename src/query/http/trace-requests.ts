import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Asker, BadQuestion, isBinary, type QueryService, type TraceShape } from '../question.ts'
import { jaegerDialect, readJaegerRequest } from './jaeger-requests.ts'
import { readEtags, sendBody, sendNotModified, sendText } from './replies.ts'
import { readTempoRequest } from './tempo-requests.ts'
import {
  BadParameter,
  decoded,
  type Dialect,
  JSON_TYPE,
  refusalText,
  refused,
  TraceApiParameters,
  type TraceRefusal,
  type TraceRequest,
} from './trace-parameters.ts'

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal
  /** The client. */
  readonly asker: Asker
}

/** Answers as Jaeger or Tempo would. Rejects when the question could not be answered, or only in part. */
export async function serveTraceRequest(
  queries: QueryService,
  asked: TraceRequest,
  exchange: Exchange,
): Promise<void> {
  const { response } = exchange
  if (asked.kind === 'fixed') sendBody(response, 200, asked.type, asked.text)
  else if (asked.kind === 'refused') sendRefusal(response, asked)
  else
    try {
      await serveTraceQuestion(queries, asked, exchange)
    } catch (error) {
      if (!(error instanceof BadQuestion) || response.headersSent) throw error
      sendRefusal(response, refused(asked.dialect, error.message))
    }
}

async function serveTraceQuestion(
  queries: QueryService,
  { question, dialect }: Extract<TraceRequest, { kind: 'question' }>,
  { request, response, gone, asker }: Exchange,
): Promise<void> {
  const shape = question.kind === 'sentTrace' ? question.shape : undefined
  const reply = await queries.ask(question, readEtags(request.headers['if-none-match']), gone, asker)
  if (reply.kind === 'found') {
    const binary = shape !== undefined && isBinary(shape)
    const type = binary ? 'application/protobuf' : JSON_TYPE
    await sendText(response, reply.text, { type, etag: reply.etag, binary })
  } else if (reply.kind === 'notModified') sendNotModified(response, reply.etag)
  else if (shape === 'tempoProtobufV2' || shape === 'tempoJsonV2') sendNoTrace(response, shape)
  else sendRefusal(response, refused(dialect, NOT_FOUND[dialect], 404))
}

const NOT_FOUND = { jaeger: 'trace not found', jaegerV3: 'No traces found', tempo: 'trace not found' }

/** Version 2 of Tempo's API answers an empty trace. */
function sendNoTrace(response: ServerResponse, shape: TraceShape): void {
  if (isBinary(shape)) sendBody(response, 200, 'application/protobuf', '')
  else sendBody(response, 200, JSON_TYPE, '{"trace":{}}')
}

function sendRefusal(response: ServerResponse, refusal: TraceRefusal): void {
  const { type, text } = refusalText(refusal)
  sendBody(response, refusal.status, type, text)
}

const PROTOBUF = /application\/(?:x-)?protobuf/

/**
 * A request of a Jaeger or Tempo client; undefined for any other path. A prefix `/jaeger` or `/tempo` decides where both have the
 * path; without one, a client that accepts protobuf is Tempo's.
 */
export function readTraceRequest(
  target: string,
  accept: string | undefined,
  nowMs: number,
): TraceRequest | undefined {
  const url = URL.parse(target, 'http://causeway')
  if (/^(?:\/tempo)?\/ready$/.test(url?.pathname ?? ''))
    return { kind: 'fixed', text: 'ready\n', type: 'text/plain' }
  const [, whose, path = ''] = /^(?:\/(jaeger|tempo))?\/api\/(.+)$/.exec(url?.pathname ?? '') ?? []
  if (url === null || path === '' || path.startsWith('v1/')) return undefined
  const parts = path.split('/').map(decoded)
  const wantsProtobuf = PROTOBUF.test(accept ?? '')
  const isTempos = whose === 'tempo' || (whose === undefined && (wantsProtobuf || parts[0] !== 'traces'))
  const asTempo =
    whose !== 'jaeger' && isTempos
      ? understood('tempo', url.searchParams, (parameters) =>
          readTempoRequest(parts, parameters, wantsProtobuf, nowMs),
        )
      : undefined
  if (asTempo !== undefined || whose === 'tempo') return asTempo
  return understood(jaegerDialect(parts), url.searchParams, (parameters) =>
    readJaegerRequest(parts, parameters, nowMs),
  )
}

/** What is read, or a refusal that names the first parameter which is not understood. */
function understood(
  dialect: Dialect,
  search: URLSearchParams,
  read: (parameters: TraceApiParameters) => TraceRequest | undefined,
): TraceRequest | undefined {
  const parameters = new TraceApiParameters(search)
  try {
    const request = read(parameters)
    if (request !== undefined) parameters.refuseOthers()
    return request
  } catch (error) {
    if (error instanceof BadParameter) return refused(dialect, error.message)
    throw error
  }
}
