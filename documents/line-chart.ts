/** One point of a series; `spread` is drawn as an error bar. */
export interface ChartPoint {
  x: number
  y: number
  spread?: { from: number; to: number }
}

export interface Series {
  name: string
  /** A class of the style below: `first`, `second` or `third`. */
  look: Look
  points: readonly ChartPoint[]
}

export type Look = 'first' | 'second' | 'third'

export interface Chart {
  title: string
  /** What the picture says, for those who do not see it. */
  description: string
  x: { label: string; ticks: readonly number[] }
  y: { label: string; ticks: readonly number[]; unit?: string }
  /** A horizontal line with its name. */
  line?: { y: number; name: string }
  series: readonly Series[]
}

const WIDTH = 720
const HEIGHT = 420
const FRAME = { left: 72, right: 24, top: 72, bottom: 56 }
const INNER = { width: WIDTH - FRAME.left - FRAME.right, height: HEIGHT - FRAME.top - FRAME.bottom }
const CAP = 4
const LEGEND_GAP = 200

/** A line chart as SVG (SVG 1.1) that can be read in light and in dark, and without colours: each series has its mark. */
export function lineChart(chart: Chart): string {
  const { title, description, series } = chart
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>${STYLE}</style>
<rect class="sheet" width="${WIDTH}" height="${HEIGHT}" rx="6"/>
<text class="title" x="${FRAME.left}" y="26">${escaped(title)}</text>
${legend(series)}
${axes(chart)}
${series.map((one) => drawn(chart, one)).join('\n')}
</svg>
`
}

const STYLE = [
  '.sheet{fill:#fff}text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}',
  '.grid{stroke:#d0d7de;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}.floor{stroke:#57606a;stroke-dasharray:3 4}',
  '.note{font-size:12px;fill:#57606a}path{fill:none;stroke-width:2}.first{stroke:#0550ae}.dot.first{fill:#0550ae}',
  '.second{stroke:#bc4c00;stroke-dasharray:6 4}.dot.second{fill:#fff;stroke-dasharray:none;stroke-width:2}',
  '.third{stroke:#1a7f37;stroke-dasharray:2 3}.dot.third{fill:#1a7f37;stroke-dasharray:none}.bar{stroke-width:1.5;stroke-dasharray:none}',
  '@media (prefers-color-scheme:dark){.sheet{fill:#0d1117}text{fill:#e6edf3}.note{fill:#9198a1}.grid{stroke:#30363d}',
  '.axis,.floor{stroke:#9198a1}.first{stroke:#58a6ff}.dot.first{fill:#58a6ff}.second{stroke:#f0883e}.dot.second{fill:#0d1117}',
  '.third{stroke:#3fb950}.dot.third{fill:#3fb950}}',
].join('')

function axes({ x, y, line }: Chart): string {
  const bottom = FRAME.top + INNER.height
  const right = FRAME.left + INNER.width
  const parts = y.ticks.map((tick) => {
    const at = placeY(y.ticks, tick)
    return `<line class="grid" x1="${FRAME.left}" y1="${at}" x2="${right}" y2="${at}"/><text x="${FRAME.left - 10}" y="${at + 4}" text-anchor="end">${tick}${y.unit ?? ''}</text>`
  })
  for (const tick of x.ticks) {
    const at = placeX(x.ticks, tick)
    parts.push(
      `<line class="axis" x1="${at}" y1="${bottom}" x2="${at}" y2="${bottom + 5}"/><text x="${at}" y="${bottom + 20}" text-anchor="middle">${tick}</text>`,
    )
  }
  if (line !== undefined) {
    const at = placeY(y.ticks, line.y)
    parts.push(
      `<line class="floor" x1="${FRAME.left}" y1="${at}" x2="${right}" y2="${at}"/><text class="note" x="${right}" y="${at + 16}" text-anchor="end">${escaped(line.name)}</text>`,
    )
  }
  parts.push(
    `<line class="axis" x1="${FRAME.left}" y1="${bottom}" x2="${right}" y2="${bottom}"/>`,
    `<text x="${FRAME.left + INNER.width / 2}" y="${HEIGHT - 12}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(18 ${FRAME.top + INNER.height / 2}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
  )
  return parts.join('\n')
}

function drawn({ x, y }: Chart, { look, points }: Series): string {
  const placed = points.map((point) => ({
    ...point,
    px: placeX(x.ticks, point.x),
    py: placeY(y.ticks, point.y),
  }))
  const path = placed.map(({ px, py }, at) => `${at === 0 ? 'M' : 'L'}${px} ${py}`).join('')
  const bars = placed.flatMap(({ px, spread }) => {
    if (spread === undefined || spread.from === spread.to) return []
    const [top, bottom] = [placeY(y.ticks, spread.to), placeY(y.ticks, spread.from)]
    return [
      `<path class="bar ${look}" d="M${px - CAP} ${top}h${2 * CAP}M${px} ${top}V${bottom}M${px - CAP} ${bottom}h${2 * CAP}"/>`,
    ]
  })
  return [
    `<path class="${look}" d="${path}"/>`,
    ...bars,
    ...placed.map(({ px, py }) => mark(look, px, py)),
  ].join('\n')
}

function legend(series: readonly Series[]): string {
  return series
    .map(({ name, look }, at) => {
      const x = FRAME.left + at * LEGEND_GAP
      return `<path class="${look}" d="M${x} 48h28"/>${mark(look, x + 14, 48)}<text x="${x + 36}" y="52">${escaped(name)}</text>`
    })
    .join('\n')
}

function mark(look: Look, x: number, y: number): string {
  if (look === 'first') return `<circle class="dot first" cx="${x}" cy="${y}" r="4"/>`
  if (look === 'third') return `<rect class="dot third" x="${x - 3.5}" y="${y - 3.5}" width="7" height="7"/>`
  return `<path class="dot second" d="M${x} ${y - 5}l5 5-5 5-5-5z"/>`
}

function placeX(ticks: readonly number[], x: number): number {
  return rounded(FRAME.left + part(ticks, x) * INNER.width)
}

function placeY(ticks: readonly number[], y: number): number {
  return rounded(FRAME.top + (1 - part(ticks, y)) * INNER.height)
}

/** How far along an axis that goes from its first tick to its last. */
function part(ticks: readonly number[], value: number): number {
  const [first = 0] = ticks
  const last = ticks.at(-1) ?? 1
  return (value - first) / (last - first)
}

function rounded(place: number): number {
  return Math.round(place * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
