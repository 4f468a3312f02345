import { SpanKind, SpanStatusCode, type Span, type Tracer } from '@opentelemetry/api'
import { CPID_ANCESTORS } from '../attributes.ts'
import { withTraceContext } from '../context/active-trace-context.ts'
import type { TraceContext } from '../context/trace-context.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'
import { endSpan, errorLine, inSpan } from './in-span.ts'

export interface WriteSpan {
  readonly tracer: () => Tracer
  readonly name: string
  /** What the write is for. */
  readonly change: TraceContext | undefined
  /** What it is of where it was refused: nobody hears of a change of which nothing was written. Undefined keeps the change. */
  readonly refusedAs: () => TraceContext | undefined
  /** Whether it changed nothing, after it was sent: then nobody is told of it. */
  readonly isNothing?: () => boolean
}

/**
 * Sends a write inside a span of the change that it is for, which ends with it. What the write rejects with is told on the
 * span, an HTTP status too, and passed on.
 */
export function sendInSpan<Answer>(
  { tracer, name, change, refusedAs, isNothing = () => false }: WriteSpan,
  send: (span: Span) => Promise<Answer>,
): Promise<Answer> {
  const options = { kind: SpanKind.CLIENT, attributes: changeAttributes(change) }
  return withTraceContext(change, () =>
    inSpan(tracer, name, options, async (span) => {
      try {
        return await send(span)
      } catch (error) {
        tellFailure(span, statusOf(error), errorLine(error), refusedAs())
        throw error
      } finally {
        if (!isNothing()) endSpan(span)
      }
    }),
  )
}

/** `error.type` as the semantic conventions of HTTP have it: the status where there is one. */
export function tellFailure(
  span: Span,
  status: number | undefined,
  message: string,
  change: TraceContext | undefined,
): void {
  if (change !== undefined)
    span.setAttributes({ ...changeAttributes(change), [CPID_ANCESTORS]: [...change.ancestors] })
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
