import type { CausewayQueries, Pages } from '../../model/ports/query-port.ts'
import type { OutboxItem } from '../../model/ports/outbox-port.ts'
import { jaegerSearchJson, jaegerTraceJson, jaegerV3SearchJson, jaegerV3TraceJson } from './jaeger-json.ts'
import { jaegerSummariesJson } from './jaeger-summaries.ts'
import { jaegerOperationsJson, jaegerServicesJson, tempoTagsJson, tempoTagValuesJson } from './names-json.ts'
import { tempoJson, tempoProtobuf, tempoSearchJson } from './tempo-json.ts'
import type { TraceQuestion, TraceShape } from './trace-question.ts'

const SEARCHES = {
  jaeger: jaegerSearchJson,
  jaegerV3: jaegerV3SearchJson,
  jaegerSummaries: jaegerSummariesJson,
  tempo: tempoSearchJson,
} as const

/** The pieces of the answer; undefined for a trace that was not sent. */
export function answerTraceQuestion(
  queries: CausewayQueries,
  question: TraceQuestion,
): Iterable<string> | undefined {
  switch (question.kind) {
    case 'sentTrace': {
      const pages = queries.traceSent(Buffer.from(question.traceId, 'hex'))
      return pages && inShape(queries, question.traceId, question.shape, pages)
    }
    case 'searchTraces':
      return SEARCHES[question.shape](queries, question.search)
    case 'services':
      return jaegerServicesJson(queries, question.version)
    case 'operations':
      return jaegerOperationsJson(queries, question)
    case 'tags':
      return tempoTagsJson(queries, question)
    case 'tagValues':
      return tempoTagValuesJson(queries, question)
  }
}

function inShape(
  queries: CausewayQueries,
  traceId: string,
  shape: TraceShape,
  pages: Pages<OutboxItem>,
): Iterable<string> {
  switch (shape) {
    case 'jaeger':
      return jaegerTraceJson(queries, traceId, pages)
    case 'jaegerV3':
      return jaegerV3TraceJson(queries, pages)
    case 'tempoProtobuf':
      return tempoProtobuf(queries, pages, 1)
    case 'tempoProtobufV2':
      return tempoProtobuf(queries, pages, 2)
    case 'tempoJson':
      return tempoJson(queries, pages, 1)
    case 'tempoJsonV2':
      return tempoJson(queries, pages, 2)
  }
}
