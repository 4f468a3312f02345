import { SpanKind, SpanStatusCode, type Span, type Tracer } from '@opentelemetry/api'
import { withTraceContext } from '../context/active-trace-context.ts'
import type { TraceContext } from '../context/trace-context.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'

/**
 * Sends a write inside a span of the change that it is for, which ends with it. What the write rejects with is told on the
 * span, an HTTP status too, and passed on.
 */
export function sendInSpan<Answer>(
  tracer: Tracer,
  name: string,
  change: TraceContext | undefined,
  send: (span: Span) => Promise<Answer>,
): Promise<Answer> {
  return withTraceContext(change, () =>
    tracer.startActiveSpan(
      name,
      { kind: SpanKind.CLIENT, attributes: changeAttributes(change) },
      async (span) => {
        try {
          return await send(span)
        } catch (error) {
          tellFailure(span, statusOf(error), error instanceof Error ? error.message : String(error))
          throw error
        } finally {
          span.end()
        }
      },
    ),
  )
}

/** `error.type` as the semantic conventions of HTTP have it: the status where there is one. */
export function tellFailure(span: Span, status: number | undefined, message: string): void {
  span.setAttribute('error.type', status === undefined ? '_OTHER' : String(status))
  if (status !== undefined) span.setAttribute('http.response.status_code', status)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}

/** What clients call the status of an answer: `code`, `statusCode` or `status`. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, statusCode, status } = error as { code?: unknown; statusCode?: unknown; status?: unknown }
  return [code, statusCode, status].find(
    (value) => typeof value === 'number' && value >= 100 && value < 600,
  ) as number | undefined
}
