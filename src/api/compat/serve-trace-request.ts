import type { IncomingMessage, ServerResponse } from 'node:http'
import { isBinary, type TraceShape } from '../../query/traces/trace-question.ts'
import type { Asker } from '../../query/asker.ts'
import { readEtags } from '../etags.ts'
import type { QueryService } from '../query-service.ts'
import { sendBody, sendNotModified, sendText } from '../reply.ts'
import { JSON_TYPE, refusalText, refused, type TraceRefusal, type TraceRequest } from './trace-request.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** That nobody waits any more. */
  readonly gone: AbortSignal
  /** From where it is asked. */
  readonly asker: Asker
}

/** Answers as Jaeger or Tempo would. Rejects when the question could not be answered, or only in part. */
export async function serveTraceRequest(
  queries: QueryService,
  asked: TraceRequest,
  { request, response, gone, asker }: Exchange,
): Promise<void> {
  if (asked.kind === 'fixed') sendBody(response, 200, asked.type, asked.text)
  else if (asked.kind === 'refused') sendRefusal(response, asked)
  else {
    const { question, dialect } = asked
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
}

const NOT_FOUND = { jaeger: 'trace not found', jaegerV3: 'No traces found', tempo: 'trace not found' }

/** Version 2 of Tempo's answer says so with a trace that holds nothing. */
function sendNoTrace(response: ServerResponse, shape: TraceShape): void {
  if (isBinary(shape)) sendBody(response, 200, 'application/protobuf', '')
  else sendBody(response, 200, JSON_TYPE, '{"trace":{}}')
}

function sendRefusal(response: ServerResponse, refusal: TraceRefusal): void {
  const { type, text } = refusalText(refusal)
  sendBody(response, refusal.status, type, text)
}
