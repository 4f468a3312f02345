import type { Causeway } from '../../support/causeway.ts'

interface Placed {
  root: string
  step: string
}

/** The cascades that a service takes part in, oldest first: each of its spans, and below which it stands, in the order of the alphabet. */
export function cascadesOf(causeway: Causeway, service: string): string[][] {
  const placed = causeway.stored<Placed>(
    `SELECT s.root, s.name || ' < ' || coalesce(w.name, 'its change') AS step FROM audit_cascade_spans s
     JOIN audit_cascades c ON c.root = s.root
     LEFT JOIN audit_cascade_spans w ON w.root = s.root AND w.span_id = s.parent_span_id AND w.trace_id = s.trace_id
     WHERE s.service = '${service}' ORDER BY c.start, s.start`,
  )
  const cascades = Map.groupBy(placed, ({ root }) => root)
  return [...cascades.values()].map((of) => of.map(({ step }) => step).sort())
}
