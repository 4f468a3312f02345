import { join } from 'node:path'
import { formatted } from '../../charts/formatted.ts'
import type { BenchmarkData } from './benchmark-data.ts'
import { peersPlots } from './peers-plots.ts'
import { renderScaling, SCALED_BY } from './scaling-document.ts'
import { curveFile, sectionPart } from './section-part.ts'
import { lineChart, type Look } from '../../charts/line-chart.ts'
import { niceTicks, powersOfTen, shortNumber } from '../../charts/nice-ticks.ts'
import type { Curve, SectionResult } from '../measure/figures.ts'
import { peersPart } from './peers-part.ts'
import { table } from '../../charts/markdown.ts'
import { grouped } from '../measure/report.ts'
import { figureRows, labelText, outcome, targetText } from './figure-rows.ts'

/** The document and its plots, by path: a function of the data alone. */
export async function renderFiles(reports: string, data: BenchmarkData): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  const plot = (file: string, svg: string) => files.set(join(reports, 'benchmarks', file), svg)
  if (data.peers !== undefined) for (const { file, svg } of peersPlots(data.peers.peers)) plot(file, svg)
  for (const { section } of data.sections)
    for (const [at, curve] of (section.curves ?? []).entries())
      plot(curveFile(section.name, at), curvePlot(curve))
  const document = join(reports, 'benchmarks.md')
  files.set(document, await formatted(document, renderDocument(data)))
  const scaling = join(reports, '..', 'scaling.md')
  const measured = new Set(data.sections.map(({ section }) => section.name))
  if (SCALED_BY.every((name) => measured.has(name)))
    files.set(scaling, await formatted(scaling, renderScaling(data)))
  return files
}

const LOOKS: readonly Look[] = ['first', 'second', 'third', 'fourth']

/** A curve with its medians, from the least to the most as error bars. */
function curvePlot({ title, xLabel, yLabel, isLogX = false, series }: Curve): string {
  const points = series.flatMap((one) => one.points)
  const xs = points.map(({ x }) => x)
  return lineChart({
    title,
    description: series
      .map(
        ({ name, points }) =>
          `${name}: ${points.map(({ x, median }) => `${x} → ${short(median)}`).join(', ')}`,
      )
      .join('; '),
    x: {
      label: xLabel,
      ticks: isLogX ? powersOfTen(xs) : niceTicks(Math.max(...xs)),
      isLog: isLogX,
      text: shortNumber,
    },
    y: { label: yLabel, ticks: niceTicks(Math.max(...points.map(({ max }) => max))), text: shortNumber },
    series: series.map(({ name, points }, at) => ({
      name,
      look: LOOKS[at % LOOKS.length] ?? 'first',
      points: points.map(({ x, median, min, max }) => ({ x, y: median, spread: { from: min, to: max } })),
    })),
  })
}

function short(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 })
}

/** docs/reports/benchmarks.md; what was not measured is left out. */
function renderDocument(data: BenchmarkData): string {
  return `${[
    INTRODUCTION,
    targetsPart(data),
    HOW,
    data.peers && peersPart(data.peers),
    ...data.sections.map(sectionPart),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n')}\n`
}

const INTRODUCTION = `# Benchmarks

<!-- Written by npm run bench:document from benchmarks/*.json; edit lab/bench/document instead. -->

How fast Causeway is, what it takes, and how that compares with the programs beside it. Every figure comes from a file in
[benchmarks/](benchmarks) that has the value of every round.`

const HOW = `## How to repeat it

\`\`\`sh
npm run bench                  # every section, about an hour, most of it anchor's; -- --only <section> for one
npm run bench:peers            # beside the Collector and Jaeger, about 12 minutes; needs Go 1.26 once, to build them
npm run bench:document -- lab/bench/results/latest.json lab/bench/results/peers.json   # this file, its data and its plots
\`\`\`

\`-- --help\` lists the rest. A calm machine is needed: other programs' share of the cores is measured with every round, and
is in the data. Databases go to the folder for temporary files unless \`--dir\` names another; where that is in memory, the
first line printed says so, for then a commit costs nothing.

Everything runs as in earnest: Causeway in a process of its own, started by its command with a configuration file, with its
defaults; a generator and a sink in processes of their own that do little. The generator writes ids, times and CPIDs into
ready requests in place. Each controller of a cascade is one connection; a request begins within a trace, as the batches of
span processors do. Medians are over the rounds; min and max are the spread, not an error.`

/** Every figure that has a target. */
function targetsPart({ sections, peers }: BenchmarkData): string {
  const all: SectionResult[] = [
    ...(peers === undefined ? [] : [{ ...peers.peers.ratios, name: 'peers' }]),
    ...sections.map(({ section }) => section),
  ]
  const rows = all.flatMap((section) =>
    figureRows(section)
      .filter(({ isMet }) => isMet !== undefined)
      .map((row) => ({ ...row, name: section.name })),
  )
  if (rows.length === 0) return 'Nothing that has a target was measured.'
  const met = rows.filter(({ isMet }) => isMet).length
  const words = met === rows.length ? 'All are met' : `${met} of ${rows.length} are met`
  return `Figures with a target, medians over the rounds. ${words}.

${table([
  ['section', 'figure', 'median (min to max)', 'unit', 'target', ''],
  ...rows.map(({ name, figure, spread: { median, min, max }, isMet }) => [
    name,
    labelText(figure),
    `${grouped(median, figure.digits)} (${grouped(min, figure.digits)} to ${grouped(max, figure.digits)})`,
    figure.unit,
    targetText(figure),
    outcome(isMet),
  ]),
])}`
}
