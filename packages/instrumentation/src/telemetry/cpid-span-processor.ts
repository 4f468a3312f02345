import { trace, type Attributes, type Context, type Link, type Span } from '@opentelemetry/api'
import { CPID_ANCESTORS, CPID_ID } from '../attributes.ts'
import { getTraceContext } from '../context/active-trace-context.ts'

/** The used members of a started SDK span. */
export type StartedSpan = Pick<Span, 'setAttribute' | 'addLink'> & { readonly attributes?: Attributes }

/**
 * A span processor for any SDK (OpenTelemetry specification, Tracing SDK, Span Processor): spans begun inside a trace
 * context get `cpid.id` and `cpid.ancestors`, unless whoever began them gave a `cpid.id`. Where the trace context has a
 * link, the outermost spans inside it get that.
 */
export class CpidSpanProcessor {
  readonly #linked = new WeakMap<object, Link>()

  onStart(span: StartedSpan, parentContext: Context): void {
    const traceContext = getTraceContext(parentContext)
    if (traceContext === undefined) return
    const { cpid, ancestors, link } = traceContext
    if (span.attributes?.[CPID_ID] === undefined) {
      span.setAttribute(CPID_ID, cpid)
      if (ancestors.length > 0) span.setAttribute(CPID_ANCESTORS, ancestors)
    }
    if (link !== undefined) this.#link(span, link, trace.getSpan(parentContext))
  }

  onEnd(): void {
    // Everything is set in onStart.
  }

  forceFlush(): Promise<void> {
    return Promise.resolve()
  }

  shutdown(): Promise<void> {
    return Promise.resolve()
  }

  #link(span: StartedSpan, link: Link, parent: Span | undefined): void {
    this.#linked.set(span, link)
    if (parent === undefined || this.#linked.get(parent) !== link) span.addLink(link)
  }
}
