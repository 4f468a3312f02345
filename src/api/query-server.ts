import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen, type ListenAddress, type Listening } from '../telemetry/listen.ts'
import { readTraceRequest } from './compat/read-trace-request.ts'
import { serveTraceRequest } from './compat/serve-trace-request.ts'
import { serveDashboard } from './dashboard.ts'
import { readEtags } from './etags.ts'
import type { QueryService } from './query-service.ts'
import { readRequest } from './read-request.ts'
import { fixedAnswer, type About } from './fixed-answers.ts'
import { sendBody, sendFailure, sendNotModified, sendText } from './reply.ts'

export interface QueryServerSettings extends ListenAddress {
  queries: QueryService
  about: About
  /** Where the built dashboard is; without one there is only the API. */
  dashboard?: string
  /** Told of every question that could not be answered, or only in part, by a fault here. */
  onTrouble?: (reason: string) => void
}

/**
 * The HTTP API of the `cpid_query` extension. Rejects with an error that says what to change when it cannot listen;
 * disposing ends what is under way.
 */
export function startQueryServer(settings: QueryServerSettings): Promise<Listening> {
  const server = createServer((request, response) => {
    void serve(settings, request, response)
  })
  return listen(server, settings, { what: 'The query API', setting: 'extensions.cpid_query.endpoint' })
}

async function serve(
  { queries, about, dashboard, onTrouble }: QueryServerSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (dashboard !== undefined && (await serveDashboard(dashboard, request, response))) return
    const traces = readTraceRequest(request.url ?? '/', request.headers.accept)
    const fixed = fixedAnswer(request.url ?? '/', about)
    const isOther = fixed !== undefined || traces !== undefined
    const question = isOther ? undefined : readRequest(request.url ?? '/')
    if (question === 'unknownPath') sendFailure(response, question)
    else if (request.method !== 'GET' && request.method !== 'HEAD') sendFailure(response, 'methodNotAllowed')
    else if (traces !== undefined) await serveTraceRequest(queries, traces, request, response)
    else if (fixed !== undefined) sendBody(response, 200, 'application/json', fixed)
    else if (typeof question === 'string') sendFailure(response, question)
    else if (question !== undefined) {
      const reply = await queries.ask(question, readEtags(request.headers['if-none-match']))
      if (reply.kind === 'found') await sendText(response, reply.text, { etag: reply.etag })
      else if (reply.kind === 'notModified') sendNotModified(response, reply.etag)
      else sendFailure(response, reply.kind)
    }
  } catch (error) {
    if (isCallersHangup(error)) return
    onTrouble?.(error instanceof Error ? error.message : String(error))
    // A half-sent answer must not look whole.
    if (response.headersSent) response.destroy()
    else sendFailure(response, 'internal')
  }
}

const HANGUPS = [
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_UNABLE_TO_PIPE',
  'ERR_STREAM_DESTROYED',
  'ECONNRESET',
  'EPIPE',
]

function isCallersHangup(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && HANGUPS.includes(String(error.code))
  )
}
