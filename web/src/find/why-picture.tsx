import { useMemo } from 'preact/hooks'
import { go, hrefTo } from '../app/address.ts'
import { Edges } from '../graph/graph-edges.tsx'
import { drawingOf, NODE_HEIGHT, NODE_WIDTH, type Point } from '../graph/graph-layout.ts'
import { colourOf } from '../parts/service-colour.ts'
import { timeOfDay } from '../text/moment.ts'
import { objectName } from '../text/object-name.ts'
import { fitted } from '../timeline/fitted-text.ts'
import type { WhyStep } from './why-steps.ts'

const KINDS: Readonly<Record<WhyStep['kind'], string>> = {
  person: 'a change that somebody began (opens the cascade)',
  self: 'a change that a controller began by itself (opens the cascade)',
  superseded: 'superseded: another change overwrote it entirely',
  follows: 'a write that follows from the boxes before it (opens the object)',
}
const BOLD = 0.85

/** What led to an object, as a picture: causes on the left, the object on the right. */
export function WhyPicture({ steps }: { steps: readonly WhyStep[] }) {
  const shape = steps.map(({ id, from }) => `${id}<${from.join('+')}`).join()
  const drawing = useMemo(
    () =>
      drawingOf({
        nodes: steps.map(({ id }) => ({ cpid: id })),
        edges: steps.flatMap(({ id, from }) => from.map((source) => ({ source, target: id }))),
      }),
    [shape],
  )
  return (
    <figure class="graph why-picture">
      <ul class="legend graph-legend" aria-label="Boxes">
        {(Object.keys(KINDS) as WhyStep['kind'][]).map(
          (kind) =>
            steps.some((step) => step.kind === kind) && (
              <li key={kind} class="service-mark">
                <span class={`box-swatch ${kind}`} aria-hidden="true" />
                {KINDS[kind]}
              </li>
            ),
        )}
      </ul>
      <div
        class="graph-scroll"
        tabIndex={0}
        role="group"
        aria-label="What led to the object; the list below has the same"
      >
        <svg width={drawing.width} height={drawing.height} viewBox={`0 0 ${drawing.width} ${drawing.height}`}>
          <Edges drawing={drawing} />
          {steps.map((step) => (
            <Box key={step.id} step={step} at={drawing.nodes.get(step.id) ?? { x: 0, y: 0 }} />
          ))}
        </svg>
      </div>
    </figure>
  )
}

function Box({ step, at }: { step: WhyStep; at: Point }) {
  const { short, kind, version, change, number, timestamp } = step
  const href =
    change === undefined
      ? hrefTo('/objects', { ref: objectName(version?.object ?? '').reference, view: 'why' })
      : `/cascades/${change.root}`
  const service = version?.service ?? change?.service ?? undefined
  return (
    <a
      href={href}
      class={`node ${kind}`}
      aria-description={`step ${number}`}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        go(href)
      }}
    >
      <g transform={`translate(${at.x - NODE_WIDTH / 2} ${at.y - NODE_HEIGHT / 2})`}>
        <rect class="box" width={NODE_WIDTH} height={NODE_HEIGHT} rx="4" />
        {(kind === 'person' || kind === 'self') && (
          <line class="edge-mark" x1="2.5" y1="3" x2="2.5" y2={NODE_HEIGHT - 3} />
        )}
        <text class="title" x="10" y="17">
          {fitted(short, (NODE_WIDTH - 20) * BOLD)}
        </text>
        {service !== undefined && <rect x="10" y="25" width="8" height="8" rx="2" fill={colourOf(service)} />}
        <text x={service === undefined ? 10 : 23} y="33">
          {fitted(
            version === undefined
              ? (change?.actor ?? change?.service ?? 'somebody')
              : (version.user ?? version.service),
            NODE_WIDTH - 32,
          )}
        </text>
        <text class="mono" x="10" y="47">
          {`${number}. ${timeOfDay(timestamp)}`}
        </text>
      </g>
    </a>
  )
}
