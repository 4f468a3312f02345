import type { LinkedSpan } from '../../model/ports/query-port.ts'
import type { StepTime } from './step-times.ts'
import { spanTimes } from './span-times.ts'
import type { TreeSpan } from './span-tree.ts'

/** A span inside a step of the critical path, and how much of what the step held up was its own time. */
export interface DominantSpan {
  readonly span: LinkedSpan
  readonly heldNs: bigint
}

/**
 * For each step of a path through a trace, the span inside it that took most of the time that the step held up;
 * undefined where the step itself did. Inside are the spans of its own work, not what they caused nor the next step.
 */
export function dominantSpans(
  tree: readonly TreeSpan[],
  path: readonly LinkedSpan[],
  times: readonly StepTime[],
): (DominantSpan | undefined)[] {
  const steps = new Map(path.map((span, position) => [span, position]))
  const stepOf = new Map(steps)
  const whole = new Map<LinkedSpan, LinkedSpan>()
  const pieces = new Map<LinkedSpan, LinkedSpan>()
  const work: TreeSpan[] = []
  for (const placed of tree) {
    const { span, parent } = placed
    if (!steps.has(span) && parent !== undefined && !span.byCause && span.row !== undefined) {
      const above = stepOf.get(parent)
      if (above !== undefined) stepOf.set(span, above)
    }
    const held = times[stepOf.get(span) ?? -1]
    if (held === undefined) continue
    const piece = cut(span, held)
    whole.set(piece, span)
    pieces.set(span, piece)
    const within = steps.has(span) ? undefined : parent && pieces.get(parent)
    work.push({ ...placed, span: piece, parent: within })
  }
  const most: (DominantSpan | undefined)[] = path.map(() => undefined)
  for (const [piece, { selfNs }] of spanTimes(work)) {
    const span = whole.get(piece)
    const position = span && stepOf.get(span)
    if (span === undefined || position === undefined) continue
    if (selfNs > (most[position]?.heldNs ?? 0n)) most[position] = { span, heldNs: selfNs }
  }
  return most.map((found) => (found === undefined || steps.has(found.span) ? undefined : found))
}

/** The part of a span in the time that a step held up. */
function cut(span: LinkedSpan, { fromNs, heldNs }: StepTime): LinkedSpan {
  const untilNs = fromNs + heldNs
  const within = (ns: bigint): bigint => (ns < fromNs ? fromNs : ns > untilNs ? untilNs : ns)
  return { ...span, startNs: within(span.startNs), endNs: within(span.endNs) }
}
