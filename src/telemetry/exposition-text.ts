import type { Exemplar, HistogramSeries } from '../model/cascade-figures.ts'

/** One line of a family: a metric name, its labels, a value. */
export interface Sample {
  name: string
  labels: Readonly<Record<string, string | number>>
  value: number
  exemplar?: Exemplar | undefined
}

/** A metric with all its lines. */
export interface Family {
  name: string
  help: string
  kind: 'counter' | 'gauge' | 'histogram' | 'summary'
  samples: readonly Sample[]
}

const MS_PER_SECOND = 1000

/** A family in the Prometheus text format 0.0.4, which has no exemplars. */
export function prometheusText({ name, help, kind, samples }: Family): string {
  const lines = samples.map(
    (sample) => `${sample.name}${labelsText(sample.labels)} ${numberText(sample.value)}`,
  )
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${kind}`, ...lines].join('\n')
}

/**
 * Families in OpenMetrics 1.0. A counter is written as `unknown`: OpenMetrics would have `_total` after its name, and
 * names are the same in every format here.
 */
export function openMetricsText(families: readonly Family[]): string {
  const blocks = families.map(({ name, help, kind, samples }) =>
    [
      `# HELP ${name} ${escapeHelp(help).replaceAll('"', '\\"')}`,
      `# TYPE ${name} ${kind === 'counter' ? 'unknown' : kind}`,
      ...samples.map(
        (sample) =>
          `${sample.name}${labelsText(floatBounds(sample.labels))} ${numberText(sample.value)}${exemplarText(sample.exemplar)}`,
      ),
    ].join('\n'),
  )
  return `${blocks.join('\n')}\n# EOF\n`
}

/** The lines of a histogram: cumulative buckets with their exemplars, sum and count. */
export function histogramFamily(
  about: { name: string; help: string; labelNames: readonly string[]; bounds: readonly number[] },
  series: readonly HistogramSeries[],
): Family {
  const { name, help, labelNames, bounds } = about
  const samples = series.flatMap(({ labels, counts, sum, exemplars }): Sample[] => {
    const own = Object.fromEntries(labelNames.map((label, at) => [label, labels[at] ?? '']))
    let count = 0
    const buckets = counts.map((inBucket, at): Sample => {
      count += inBucket
      const le = bounds[at] ?? '+Inf'
      return { name: `${name}_bucket`, labels: { ...own, le }, value: count, exemplar: exemplars[at] }
    })
    return [
      ...buckets,
      { name: `${name}_sum`, labels: own, value: sum },
      { name: `${name}_count`, labels: own, value: count },
    ]
  })
  return { name, help, kind: 'histogram', samples }
}

/** True when the Accept header likes OpenMetrics at least as much as plain text. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const wanted = new Map<string, number>()
  for (const range of accept?.split(',') ?? []) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    wanted.set(type, Math.max(wanted.get(type) ?? 0, quality === undefined ? 1 : Number(quality) || 0))
  }
  const open = wanted.get('application/openmetrics-text') ?? 0
  return open > 0 && open >= (wanted.get('text/plain') ?? 0)
}

function exemplarText(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return ''
  const { traceId, spanId, value, timeMs } = exemplar
  const ids = labelsText({ trace_id: traceId, span_id: spanId })
  return ` # ${ids} ${numberText(value)} ${(timeMs / MS_PER_SECOND).toFixed(3)}`
}

/** OpenMetrics writes the bounds of buckets as floats. */
function floatBounds(labels: Sample['labels']): Sample['labels'] {
  const { le } = labels
  return typeof le === 'number' && Number.isInteger(le) ? { ...labels, le: le.toFixed(1) } : labels
}

function labelsText(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')
