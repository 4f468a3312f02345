import type { Drawing, Point } from './graph-layout.ts'

/** The edges of a drawing, each with its arrow. */
export function Edges({ drawing }: { drawing: Drawing }) {
  return (
    <g aria-hidden="true">
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0L8 4L0 8z" />
        </marker>
      </defs>
      {drawing.edges.map(({ source, target, points }) => (
        <path key={`${source} ${target}`} class="edge" d={curve(points)} marker-end="url(#arrow)" />
      ))}
    </g>
  )
}

/** A smooth line through the points. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points
  const last = rest.pop()
  if (first === undefined || last === undefined) return ''
  let path = `M${first.x} ${first.y}`
  let before = first
  for (const point of rest) {
    path += ` Q${before === first ? (first.x + point.x) / 2 : before.x} ${before.y} ${(before.x + point.x) / 2} ${(before.y + point.y) / 2}`
    before = point
  }
  return `${path} Q${before.x} ${before.y} ${last.x} ${last.y}`
}
