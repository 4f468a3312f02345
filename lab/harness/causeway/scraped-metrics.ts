import type { CausewaySettings } from './causeway-settings.ts'

interface Sample {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/** What a program tells Prometheus. */
export class ScrapedMetrics {
  readonly #samples: Sample[]

  constructor(text: string) {
    this.#samples = text.split('\n').flatMap((line) => sampleOf(line) ?? [])
  }

  static async from(port: number): Promise<ScrapedMetrics> {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    if (!response.ok) throw new Error(`/metrics on port ${port} answered ${response.status}`)
    return new ScrapedMetrics(await response.text())
  }

  /** The sum over all series that have this name and these labels; 0 when there is none. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.#series(name, labels).reduce((sum, { value }) => sum + value, 0)
  }

  /** The value of the first such series, if there is one. */
  first(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    return this.#series(name, labels)[0]?.value
  }

  #series(name: string, labels: Readonly<Record<string, string>>): Sample[] {
    const wanted = Object.entries(labels)
    return this.#samples.filter(
      (sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value),
    )
  }
}

/** One of Causeway's own metrics, for one exporter if one is named; undefined while it has no value. */
export async function ownMetric(
  { ports }: Pick<CausewaySettings, 'ports'>,
  name: string,
  exporter?: string,
): Promise<number | undefined> {
  const metrics = await ScrapedMetrics.from(ports.metrics)
  return metrics.first(name, exporter === undefined ? {} : { exporter })
}

function sampleOf(line: string): Sample | undefined {
  const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined || line.startsWith('#')) return undefined
  const pairs = [...labels.matchAll(LABEL)].map(([, key = '', text = '']) => [key, text])
  return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }
}
