import { escaped } from './line-chart.ts'
import { niceTicks, shortNumber } from './nice-ticks.ts'

interface Bar {
  name: string
  /** Drawn so that it stands out. */
  isOwn: boolean
  value: number
  /** Drawn as an error bar. */
  spread: { from: number; to: number }
  /** The value as it is written beside the bar. */
  text: string
}

interface BarChart {
  title: string
  /** What the picture says, for those who do not see it. */
  description: string
  xLabel: string
  groups: readonly { name: string; bars: readonly Bar[] }[]
}

const WIDTH = 820
const LEFT = 296
const RIGHT = 88
const TOP = 44
const BOTTOM = 56
const HEADING = 34
const LINE = 26
const BAR = 16
const CAP = 4
const GROUP_GAP = 8

const STYLE = [
  '.sheet{fill:#fff}text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}.group{font-weight:600}',
  '.grid{stroke:#d0d7de}.axis{stroke:#57606a}.note{font-size:12px;fill:#57606a}.own{fill:#0969da}.other{fill:#8c959f}',
  '.spread{fill:none;stroke:#24292f;stroke-width:1.5}',
  '@media (prefers-color-scheme:dark){.sheet{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}.axis{stroke:#9198a1}',
  '.note{fill:#9198a1}.own{fill:#388bfd}.other{fill:#6e7681}.spread{stroke:#e6edf3}}',
].join('')

/** Bars from left to right, in groups, as SVG (SVG 1.1) that can be read in light and in dark. */
export function barChart({ title, description, xLabel, groups }: BarChart): string {
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ spread }) => spread.to)))
  const ticks = niceTicks(most)
  const placeX = (value: number): number =>
    Math.round((LEFT + (value / (ticks.at(-1) ?? 1)) * (WIDTH - LEFT - RIGHT)) * 10) / 10
  const drawn: string[] = []
  let y = TOP
  for (const { name, bars } of groups) {
    drawn.push(`<text class="group" x="24" y="${y + HEADING - 12}">${escaped(name)}</text>`)
    y += HEADING
    for (const bar of bars) {
      drawn.push(barAt(bar, y, placeX))
      y += LINE
    }
    y += GROUP_GAP
  }
  const height = y + BOTTOM
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>${STYLE}</style>
<rect class="sheet" width="${WIDTH}" height="${height}" rx="6"/>
<text class="title" x="24" y="28">${escaped(title)}</text>
${ticks.map((tick) => gridLine(tick, placeX(tick), y)).join('\n')}
${drawn.join('\n')}
<line class="axis" x1="${LEFT}" y1="${TOP + GROUP_GAP}" x2="${LEFT}" y2="${y}"/>
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${height - 14}" text-anchor="middle">${escaped(xLabel)}</text>
</svg>
`
}

function gridLine(tick: number, x: number, bottom: number): string {
  return `<line class="grid" x1="${x}" y1="${TOP + GROUP_GAP}" x2="${x}" y2="${bottom}"/><text class="note" x="${x}" y="${bottom + 18}" text-anchor="middle">${shortNumber(tick)}</text>`
}

function barAt(
  { name, isOwn, value, spread, text }: Bar,
  y: number,
  placeX: (value: number) => number,
): string {
  const middle = y + LINE / 2
  const [from, to] = [placeX(spread.from), placeX(spread.to)]
  const width = Math.max(1, Math.round((placeX(value) - LEFT) * 10) / 10)
  const caps = `M${from} ${middle - CAP}v${2 * CAP}M${from} ${middle}H${to}M${to} ${middle - CAP}v${2 * CAP}`
  return [
    `<text x="${LEFT - 10}" y="${middle + 4}" text-anchor="end">${escaped(name)}</text>`,
    `<rect class="${isOwn ? 'own' : 'other'}" x="${LEFT}" y="${middle - BAR / 2}" width="${width}" height="${BAR}"/>`,
    ...(to > from ? [`<path class="spread" d="${caps}"/>`] : []),
    `<text x="${Math.max(to, LEFT + width) + 8}" y="${middle + 4}">${escaped(text)}</text>`,
  ].join('')
}
