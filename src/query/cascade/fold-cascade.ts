import type { LinkedSpan, CrossTraceSpan, TraceFacts } from '../../model/ports/query-port.ts'
import { parseRfc3339 } from '../../model/rfc3339.ts'

/** A span of a cascade that may be in several traces. `spanId` and `parentId` are numbers within the cascade. */
export interface FoldedSpan extends LinkedSpan {
  readonly part: TraceFacts
  /** As sent. */
  readonly sentId: bigint
  readonly sentParentId: bigint
}

/** A parent that is not there. */
const MISSING = -1n

/**
 * Makes one trace again of the traces that a cascade was divided into because they were full. A span that stands in
 * several of them is one, as is a CPID's change and the root; a span whose local parent or cause is in another trace hangs
 * under it. What Causeway says in its own spans about the division is left out.
 */
export class CascadeFold {
  readonly #last: TraceFacts | undefined
  readonly #isDivided: boolean
  readonly #startNs: bigint
  readonly #spans: FoldedSpan[] = []
  readonly #byRow = new Map<number, bigint>()
  readonly #changes = new Map<string, bigint>()
  readonly #bySpanId = new Map<number, Map<bigint, bigint>>()
  #root: bigint | undefined

  /** The traces in the order in which they were filled. */
  constructor(parts: readonly TraceFacts[]) {
    this.#last = parts.at(-1)
    this.#isDivided = parts.length > 1
    this.#startNs = parts.reduce((first, { startNs }) => (startNs < first ? startNs : first), MOST)
  }

  /** Adds the spans of a trace, trace by trace in the order of the parts. */
  add(part: TraceFacts, spans: readonly LinkedSpan[]): void {
    const bySpanId = new Map<bigint, bigint>()
    const isFirst = this.#bySpanId.size === 0
    this.#bySpanId.set(part.id, bySpanId)
    for (const span of spans) {
      if (this.#isDivision(span, part)) continue
      const known = this.#known(span, isFirst)
      const id = known ?? BigInt(this.#spans.length + 1)
      if (!bySpanId.has(span.spanId)) bySpanId.set(span.spanId, id)
      if (known === undefined) this.#remember(span, id)
      else if (!this.#isSentBefore(span, known)) continue
      this.#spans[Number(id) - 1] = {
        ...this.#inTime(span, isFirst),
        spanId: id,
        sentId: span.spanId,
        sentParentId: span.parentId,
        part,
      }
    }
  }

  /** Every span once, as they were sent, with its parent in the cascade: 0n for none, another one for one that is not there. */
  spans(): FoldedSpan[] {
    for (const [at, span] of this.#spans.entries()) {
      this.#spans[at] = { ...span, parentId: this.#parentOf(span) }
    }
    return this.#spans.toSorted((a, b) => a.decision - b.decision)
  }

  #parentOf({ above, parentId, part }: FoldedSpan): bigint {
    const elsewhere = above === undefined ? undefined : this.#find(above)
    if (elsewhere !== undefined) return elsewhere
    return parentId === 0n ? 0n : (this.#bySpanId.get(part.id)?.get(parentId) ?? MISSING)
  }

  #find({ trace, row, spanId }: CrossTraceSpan): bigint | undefined {
    if (row !== undefined) return this.#byRow.get(row)
    return spanId === undefined ? undefined : this.#bySpanId.get(trace)?.get(spanId)
  }

  /** A span that stands in several traces is what it is where it was sent first, if it was sent. */
  #isSentBefore(span: LinkedSpan, known: bigint): boolean {
    const decision = this.#spans[Number(known) - 1]?.decision ?? 0
    return span.decision > 0 && (decision < 0 || span.decision < decision)
  }

  /** The number of the one that a span is the same as. */
  #known(span: LinkedSpan, isFirst: boolean): bigint | undefined {
    if (span.row !== undefined) return this.#byRow.get(span.row)
    if (span.parentId === 0n) return isFirst ? undefined : this.#root
    return isChange(span) ? this.#changes.get(span.cpid) : undefined
  }

  #remember(span: LinkedSpan, id: bigint): void {
    if (span.row !== undefined) this.#byRow.set(span.row, id)
    else {
      if (span.parentId === 0n) this.#root ??= id
      if ((span.parentId === 0n || isChange(span)) && span.cpid !== undefined)
        this.#changes.set(span.cpid, id)
    }
  }

  /** True for a span that says that a trace ended or goes on, where it is but one part. */
  #isDivision({ row, name }: LinkedSpan, part: TraceFacts): boolean {
    if (row !== undefined || !this.#isDivided) return false
    return name === 'cascade' || (name === 'continued in' && part !== this.#last)
  }

  /** A change is stamped inside the trace that it was sent into, which may have begun after it. */
  #inTime(span: LinkedSpan, isFirst: boolean): LinkedSpan {
    const ns = isFirst || !isChange(span) ? undefined : parseRfc3339(span.time ?? '')
    if (ns === undefined) return span
    const happened = ns < this.#startNs ? this.#startNs : ns
    if (happened >= span.startNs) return span
    return { ...span, startNs: happened, endNs: happened + (span.endNs - span.startNs) }
  }
}

const MOST = 2n ** 63n - 1n

function isChange(span: LinkedSpan): span is LinkedSpan & { cpid: string } {
  const { row, name, cpid } = span
  return (
    row === undefined &&
    cpid !== undefined &&
    (name === 'merge' || name === 'change' || name.startsWith('change '))
  )
}
