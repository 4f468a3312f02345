/** One point of a series; `spread` is drawn as an error bar. */
export interface ChartPoint {
  x: number
  y: number
  spread?: { from: number; to: number }
}

interface Series {
  name: string
  /** A class of the style below. */
  look: Look
  points: readonly ChartPoint[]
}

export type Look = 'first' | 'second' | 'third' | 'fourth'

/** An axis goes from its first tick to its last; on a logarithmic one no tick is 0. */
interface Axis {
  label: string
  ticks: readonly number[]
  isLog?: boolean
  /** How a tick is written; as it is without it. */
  text?: (tick: number) => string
}

interface Chart {
  title: string
  /** What the picture says, for those who do not see it. */
  description: string
  x: Axis
  y: Axis & { unit?: string }
  /** A horizontal line with its name. */
  line?: { y: number; name: string }
  series: readonly Series[]
}

const WIDTH = 720
const HEIGHT = 420
const FRAME = { left: 72, right: 24, top: 72, bottom: 56 }
const WIDTH_INSIDE = WIDTH - FRAME.left - FRAME.right
const CAP = 4
/** More points than these are a line alone. */
const MAX_MARKS = 40
const LEGEND = { gap: 200, line: 20, mark: 36, letter: 7 }

/** A line chart as SVG (SVG 1.1) that can be read in light and in dark, and without colours: each series has its mark. */
export function lineChart(chart: Chart): string {
  const { title, description, series } = chart
  const names = legendPlaces(series)
  const top = (names.at(-1)?.y ?? 0) + FRAME.top - 48
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>${STYLE}${series.some(({ look }) => look === 'fourth') ? FOURTH : ''}</style>
<rect class="sheet" width="${WIDTH}" height="${HEIGHT}" rx="6"/>
<text class="title" x="${FRAME.left}" y="26">${escaped(title)}</text>
${series.map((one, at) => legend(one, names[at])).join('\n')}
${axes(chart, top)}
${series.map((one) => drawn(chart, one, top)).join('\n')}
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

const FOURTH = [
  '.fourth{stroke:#8250df;stroke-dasharray:10 3 2 3}.dot.fourth{fill:#fff;stroke-dasharray:none;stroke-width:2}',
  '@media (prefers-color-scheme:dark){.fourth{stroke:#bc8cff}.dot.fourth{fill:#0d1117}}',
].join('')

function axes({ x, y, line }: Chart, top: number): string {
  const bottom = HEIGHT - FRAME.bottom
  const right = FRAME.left + WIDTH_INSIDE
  const parts = y.ticks.map((tick) => {
    const at = placeY(y, tick, top)
    return `<line class="grid" x1="${FRAME.left}" y1="${at}" x2="${right}" y2="${at}"/><text x="${FRAME.left - 10}" y="${at + 4}" text-anchor="end">${y.text?.(tick) ?? tick}${y.unit ?? ''}</text>`
  })
  for (const tick of x.ticks) {
    const at = placeX(x, tick)
    parts.push(
      `<line class="axis" x1="${at}" y1="${bottom}" x2="${at}" y2="${bottom + 5}"/><text x="${at}" y="${bottom + 20}" text-anchor="middle">${x.text?.(tick) ?? tick}</text>`,
    )
  }
  if (line !== undefined) {
    const at = placeY(y, line.y, top)
    parts.push(
      `<line class="floor" x1="${FRAME.left}" y1="${at}" x2="${right}" y2="${at}"/><text class="note" x="${right}" y="${at + 16}" text-anchor="end">${escaped(line.name)}</text>`,
    )
  }
  parts.push(
    `<line class="axis" x1="${FRAME.left}" y1="${bottom}" x2="${right}" y2="${bottom}"/>`,
    `<text x="${FRAME.left + WIDTH_INSIDE / 2}" y="${HEIGHT - 12}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(18 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
  )
  return parts.join('\n')
}

function drawn({ x, y }: Chart, { look, points }: Series, top: number): string {
  const placed = points.map((point) => ({
    ...point,
    px: placeX(x, point.x),
    py: placeY(y, point.y, top),
  }))
  const path = placed.map(({ px, py }, at) => `${at === 0 ? 'M' : 'L'}${px} ${py}`).join('')
  const bars = placed.flatMap(({ px, spread }) => {
    if (spread === undefined || spread.from === spread.to) return []
    const [to, from] = [placeY(y, spread.to, top), placeY(y, spread.from, top)]
    return [
      `<path class="bar ${look}" d="M${px - CAP} ${to}h${2 * CAP}M${px} ${to}V${from}M${px - CAP} ${from}h${2 * CAP}"/>`,
    ]
  })
  return [
    `<path class="${look}" d="${path}"/>`,
    ...bars,
    ...(placed.length > MAX_MARKS ? [] : placed.map(({ px, py }) => mark(look, px, py))),
  ].join('\n')
}

/** Side by side, and in further lines where there are too many for one. */
function legendPlaces(series: readonly Series[]): { x: number; y: number }[] {
  const longest = Math.max(...series.map(({ name }) => LEGEND.mark + LEGEND.letter * name.length))
  const gap = Math.max(LEGEND.gap, longest)
  const inLine = Math.max(1, Math.floor((WIDTH_INSIDE + FRAME.right) / gap))
  return series.map((_, at) => ({
    x: FRAME.left + (at % inLine) * gap,
    y: 48 + Math.floor(at / inLine) * LEGEND.line,
  }))
}

function legend({ name, look }: Series, { x, y } = { x: 0, y: 0 }): string {
  return `<path class="${look}" d="M${x} ${y}h28"/>${mark(look, x + 14, y)}<text x="${x + LEGEND.mark}" y="${y + 4}">${escaped(name)}</text>`
}

function mark(look: Look, x: number, y: number): string {
  if (look === 'first') return `<circle class="dot first" cx="${x}" cy="${y}" r="4"/>`
  if (look === 'third') return `<rect class="dot third" x="${x - 3.5}" y="${y - 3.5}" width="7" height="7"/>`
  if (look === 'fourth') return `<path class="dot fourth" d="M${x} ${y - 5}l5 9h-10z"/>`
  return `<path class="dot second" d="M${x} ${y - 5}l5 5-5 5-5-5z"/>`
}

function placeX(x: Axis, value: number): number {
  return rounded(FRAME.left + part(x, value) * WIDTH_INSIDE)
}

function placeY(y: Axis, value: number, top: number): number {
  return rounded(top + (1 - part(y, value)) * (HEIGHT - FRAME.bottom - top))
}

/** How far along the axis. */
function part({ ticks, isLog = false }: Axis, value: number): number {
  const scale = isLog ? Math.log10 : (number: number): number => number
  const first = scale(ticks[0] ?? 0)
  const last = scale(ticks.at(-1) ?? 1)
  return (scale(value) - first) / (last - first)
}

function rounded(place: number): number {
  return Math.round(place * 10) / 10
}

/** Text as it stands in SVG. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
