import type { TraceFacts } from '../../model/ports/query-port.ts'

/** As many spans as are looked at as one tree, whatever a cascade has: some 50 MB. */
const MAX_SPANS = 100_000

/**
 * The traces of a root, of which each that was full is together with what its cascade goes on in; each list stands for one
 * tree. An episode that began after its root had settled is a cascade of its own. A cascade of more spans than can be
 * looked at together comes in several lists.
 */
export function wholeCascades(
  traces: readonly TraceFacts[],
  mostSpans = MAX_SPANS,
): (readonly [TraceFacts, ...TraceFacts[]])[] {
  const wholes: [TraceFacts, ...TraceFacts[]][] = []
  let spans = 0
  for (const trace of traces) {
    const whole = wholes.at(-1)
    spans += trace.spans
    if (whole?.[0].cascade === trace.cascade && spans <= mostSpans) whole.push(trace)
    else {
      wholes.push([trace])
      spans = trace.spans
    }
  }
  return wholes
}
