import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { CascadeOutline } from '../../../src/query/answer-schemas.ts'
import { go } from '../app/address.ts'
import { colourOf } from '../parts/service-colour.ts'
import { begunBecause, changeSentence, relativeTo } from '../text/change-sentence.ts'
import { objectName } from '../text/object-name.ts'
import { timeOfDay } from '../text/moment.ts'
import { fitted } from '../timeline/fitted-text.ts'
import { Edges } from './graph-edges.tsx'
import { drawingOf, NODE_HEIGHT, NODE_WIDTH, type Point } from './graph-layout.ts'
import type { DrawnGraph, DrawnNode, ShownGraph } from './other-sources.ts'

/** Bold letters are wider. */
const BOLD = 0.85
const ZOOMS = [0.4, 0.6, 0.8, 1, 1.3]

/** The merge graph, drawn. Nodes are links to the graph around them. */
export function GraphPanel({ graph, changes, start }: ShownGraph) {
  const shape = `${graph.cpid} ${graph.nodes.map(({ cpid }) => cpid).join()} ${graph.edges.length}`
  const drawing = useMemo(() => drawingOf(graph), [shape])
  const [zoom, setZoom] = useState(3)
  const scroll = useRef<HTMLDivElement>(null)
  const scale = ZOOMS[zoom] ?? 1

  useEffect(() => {
    const at = drawing.nodes.get(graph.cpid)
    const box = scroll.current
    if (at === undefined || box === null) return
    box.scrollTo(at.x * scale - box.clientWidth / 2, at.y * scale - box.clientHeight / 2)
  }, [drawing, graph.cpid, scale])

  return (
    <figure class="graph">
      <div class="timeline-tools">
        <button
          type="button"
          aria-label="Zoom in"
          disabled={zoom === ZOOMS.length - 1}
          onClick={() => setZoom(zoom + 1)}
        >
          +
        </button>
        <button type="button" aria-label="Zoom out" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
          −
        </button>
        <span class="muted hint">Causes are on the left, effects on the right. Each box is a link.</span>
      </div>
      <GraphLegend graph={graph} />
      <div
        class="graph-scroll"
        ref={scroll}
        tabIndex={0}
        role="group"
        aria-label="Merge graph; the Table view has the same"
      >
        <svg
          width={drawing.width * scale}
          height={drawing.height * scale}
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
        >
          <Edges drawing={drawing} />
          {graph.nodes.map((node) => (
            <Node
              key={node.cpid}
              node={node}
              at={drawing.nodes.get(node.cpid) ?? { x: 0, y: 0 }}
              isOwn={node.cpid === graph.cpid}
              change={changes.get(node.cpid)?.[0]}
              start={start}
            />
          ))}
        </svg>
      </div>
    </figure>
  )
}

/** The kinds of boxes and lines in this graph. */
function GraphLegend({ graph }: { graph: DrawnGraph }) {
  const kinds: [name: string, text: string, isThere: boolean][] = [
    ['own', 'the CPID asked about', true],
    ['root', 'a root, with which a change began (opens its cascade)', graph.nodes.some(({ root }) => root)],
    [
      'self',
      'begun by a controller itself: by schedule, health, a measurement, expiry or renewal',
      graph.nodes.some(({ reason }) => begunBecause(reason) !== undefined),
    ],
    [
      'superseded',
      'superseded: another change overwrote it entirely',
      graph.nodes.some(({ supersededBy }) => supersededBy !== undefined),
    ],
    ['plain', 'a CPID between a root and its effects (opens its own graph)', true],
    [
      'other',
      'another change that was merged here (opens its cascade)',
      graph.nodes.some(({ other }) => other),
    ],
    [
      'unexplained',
      'a CPID whose mergelog has not arrived',
      graph.nodes.some(({ timestamp, other }) => timestamp === null && !other),
    ],
  ]
  return (
    <ul class="legend graph-legend" aria-label="Boxes and lines">
      {kinds.map(
        ([name, text, isThere]) =>
          isThere && (
            <li key={name} class="service-mark">
              <span class={`box-swatch ${name}`} aria-hidden="true" />
              {text}
            </li>
          ),
      )}
      <li class="service-mark">
        <span aria-hidden="true">→</span>
        was merged into
      </li>
    </ul>
  )
}

interface NodeProps {
  node: DrawnNode
  at: Point
  isOwn: boolean
  /** For another change that was merged here: its description, once known. */
  change: CascadeOutline | undefined
  /** When the requested CPID began. */
  start: string
}

function Node({ node, at, isOwn, change, start }: NodeProps) {
  const { cpid, object, service, timestamp, root } = node
  const href = hrefOf(node, change)
  const name = object === null ? undefined : objectName(object)
  const title = node.other
    ? change === undefined
      ? 'another change'
      : changeSentence(change)
    : name === undefined
      ? 'object not named'
      : `${name.resource} ${name.name}`
  const when = node.other ? 'merged here' : timestamp === null ? 'no mergelog yet' : timeOfDay(timestamp)
  const classes = [
    'node',
    isOwn && 'own',
    begunBecause(node.reason ?? change?.reason ?? null) !== undefined && 'self',
    (node.supersededBy ?? change?.supersededBy) !== undefined && 'superseded',
    root && 'root',
    node.other ? 'other' : timestamp === null && 'unexplained',
  ]
  return (
    <a
      href={href}
      class={classes.filter(Boolean).join(' ')}
      aria-description={nodeText(node, isOwn, change)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        go(href)
      }}
    >
      <g transform={`translate(${at.x - NODE_WIDTH / 2} ${at.y - NODE_HEIGHT / 2})`}>
        <rect class="box" width={NODE_WIDTH} height={NODE_HEIGHT} rx="4" />
        {classes.includes('self') && <line class="edge-mark" x1="2.5" y1="3" x2="2.5" y2={NODE_HEIGHT - 3} />}
        {root && <rect class="inner" x="3" y="3" width={NODE_WIDTH - 6} height={NODE_HEIGHT - 6} rx="2" />}
        {service !== null && <rect x="9" y="25" width="8" height="8" rx="2" fill={colourOf(service)} />}
        <text class="title" x="9" y="17">
          {fitted(title, (NODE_WIDTH - 18) * BOLD)}{' '}
        </text>
        <text x={service === null ? 9 : 22} y="33">
          {node.other
            ? change === undefined
              ? 'merged here'
              : relativeTo(change.start, start)
            : service === null
              ? 'sender unknown'
              : fitted(service, NODE_WIDTH - 30)}{' '}
        </text>
        <text class="mono" x="9" y="47">
          {cpid.slice(0, 8)} {when}
        </text>
      </g>
    </a>
  )
}

function hrefOf({ cpid, root, other }: DrawnNode, change: CascadeOutline | undefined): string {
  if (other) return change === undefined ? `/cpids/${cpid}?view=cascades` : `/cascades/${change.root}`
  return root ? `/cascades/${cpid}` : `/cpids/${cpid}`
}

function nodeText(node: DrawnNode, isOwn: boolean, change: CascadeOutline | undefined): string {
  const { cpid, object, service, timestamp, root, distance, reason, other } = node
  if (other) {
    const what = change === undefined ? '' : `: ${changeSentence(change)}`
    return `another change that was merged here${what}, CPID ${cpid}: opens its cascade`
  }
  const place = isOwn
    ? 'the CPID asked about'
    : distance < 0
      ? `ancestor, ${-distance} away`
      : `descendant, ${distance} away`
  return [
    object ?? 'object unknown',
    `CPID ${cpid}`,
    service === null ? 'sender unknown' : `sent by ${service}`,
    timestamp === null ? 'its mergelog has not arrived' : `at ${timestamp}`,
    root ? 'a root: opens its cascade' : '',
    node.supersededBy === undefined ? '' : 'superseded: another change overwrote it entirely',
    reason ?? '',
    place,
  ]
    .filter((part) => part !== '')
    .join(', ')
}
