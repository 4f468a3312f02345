import { SpanKind, SpanStatusCode, type Span, type Tracer } from '@opentelemetry/api'
import { CPID_ANCESTORS } from '../attributes.ts'
import { withTraceContext } from '../context/active-trace-context.ts'
import type { TraceContext } from '../context/trace-context.ts'
import { changeAttributes } from '../telemetry/change-attributes.ts'
import { endSpan, errorLine, inSpan } from './in-span.ts'

export interface WriteSpan {
  readonly tracer: () => Tracer
  readonly name: string
  /** The change of the write. */
  readonly change: TraceContext | undefined
  /** The change for the span of a refused write, since its own is never reported. Undefined keeps its own. */
  readonly refusedAs: () => TraceContext | undefined
  /** Whether the write changed nothing, known after it was sent: its span is then dropped. */
  readonly isNothing?: () => boolean
}

/**
 * Sends a write in a span of its change. A rejection is recorded on the span, with its HTTP status, and passed on.
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

/** Records a failure. `error.type` follows the HTTP semantic conventions: the status, if there is one. */
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

/** The HTTP status in a client's error: `code`, `statusCode` or `status`. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, statusCode, status } = error as { code?: unknown; statusCode?: unknown; status?: unknown }
  return [code, statusCode, status].find(
    (value) => typeof value === 'number' && value >= 100 && value < 600,
  ) as number | undefined
}
