import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { DIFF_FORMATS } from '../trace-diff-json.ts'
import { refused, traceIdOf, type TraceRequest } from './trace-requests.ts'

const PATH = /^(?:\/tempo)?\/api\/v2\/traces\/diff\/?$/
/** A request has some 300 bytes. */
const MAX_BYTES = 16_384

/** Whether a request, by any method, is for the difference of two traces: the only path that takes a body. */
export function isTraceDiff(target: string): boolean {
  return PATH.test(URL.parse(target, 'http://causeway')?.pathname ?? '')
}

const Side = z.strictObject({
  traceId: z.string(),
  // Tempo searches between these times; Causeway needs none.
  start: z.int().optional(),
  end: z.int().optional(),
})
const Body = z.strictObject({
  base: Side,
  compare: Side,
  format: z.union([z.enum(DIFF_FORMATS), z.literal('')]).optional(),
})

/** The request that a body makes, or a refusal that says what is wrong with it. Rejects when the client hangs up. */
export async function readTraceDiff(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<TraceRequest> {
  if (request.method !== 'POST') {
    response.setHeader('allow', 'POST')
    return refused('tempo', 'write the two traces into the body of a POST', 405)
  }
  const text = await textOf(request)
  if (text === undefined) return refused('tempo', `the body may have at most ${MAX_BYTES} bytes`, 413)
  const { data, error } = Body.safeParse(jsonOrNothing(text))
  if (error !== undefined)
    return refused('tempo', `invalid trace diff request body: ${z.prettifyError(error)}`)
  for (const name of ['base', 'compare'] as const) {
    const { traceId, start, end } = data[name]
    if (traceIdOf(traceId) === undefined)
      return refused('tempo', `invalid ${name}.traceId: a trace id is 1 to 32 hex digits`)
    if (start !== undefined && end !== undefined && end <= start)
      return refused('tempo', `${name}.start must be before ${name}.end`)
  }
  const [base, compare] = [data.base.traceId, data.compare.traceId].map((id) => traceIdOf(id) ?? '')
  const format = data.format || 'trace-patch-v0'
  const question = { kind: 'traceDiff', base: base ?? '', compare: compare ?? '', format } as const
  return { kind: 'question', question, dialect: 'tempo' }
}

/** Undefined if it is too long. */
async function textOf(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  // To its end, though it is not kept: to stop reading would close the connection without an answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes <= MAX_BYTES) chunks.push(chunk)
  }
  return bytes > MAX_BYTES ? undefined : Buffer.concat(chunks).toString()
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
