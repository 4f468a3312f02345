import { attributeTexts, type KeyValueJson } from './any-value-text.ts'
import type { RequestItem } from './request-items.ts'

/** What is shown of a Metric in OTLP/JSON: Causeway's own are sums of integers and histograms. */
export interface MetricJson {
  name?: string
  unit?: string
  sum?: { dataPoints?: { attributes?: KeyValueJson[]; asInt?: string }[] }
  histogram?: { dataPoints?: { attributes?: KeyValueJson[]; count?: string; sum?: number }[] }
}

type MetricItem = RequestItem<MetricJson>

/** One of Causeway's own metrics on one line: name, unit, how many points. */
export function metricLine({ item }: MetricItem): string {
  return `${item.name ?? ''} ${item.unit ?? ''} points=${pointsOf(item).length}`
}

/** One of Causeway's own metrics with its points, one a line. */
export function metricLines(metric: MetricItem): string[] {
  return [`Metric ${metricLine(metric)}`, ...pointsOf(metric.item).map((text) => `    ${text}`)]
}

function pointsOf({ sum, histogram }: MetricJson): string[] {
  return [
    ...(sum?.dataPoints ?? []).map(({ attributes, asInt = '0' }) =>
      [...attributeTexts(attributes), `value=${asInt}`].join(' '),
    ),
    ...(histogram?.dataPoints ?? []).map((point) =>
      [...attributeTexts(point.attributes), `count=${point.count ?? 0}`, `sum=${point.sum ?? 0}`].join(' '),
    ),
  ]
}
