import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = new URL('../../examples/grafana/dashboards/', import.meta.url)

interface Panel {
  readonly targets?: readonly {
    readonly datasource: { readonly type: string; readonly uid: string }
    readonly query?: string
    readonly metricsQueryType?: string
    readonly expr?: string
    readonly legendFormat?: string
  }[]
}

interface Dashboard {
  readonly panels: readonly Panel[]
}

/** What a panel asks: TraceQL, where it is a metric or a search, or PromQL. */
interface Target {
  readonly datasource: { readonly type: string; readonly uid: string }
  readonly query: string | undefined
  readonly isMetric: boolean
  readonly expr: string | undefined
  /** How a series is named, with the labels in it. */
  readonly legend: string | undefined
}

/** Those of examples/grafana. */
export function dashboards(): Dashboard[] {
  return readdirSync(FOLDER).map(
    (name) => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Dashboard,
  )
}

export function targetsOf({ panels }: Dashboard): Target[] {
  return panels
    .flatMap(({ targets = [] }) => targets)
    .map(({ datasource, query, metricsQueryType, expr, legendFormat: legend }) => ({
      ...{ datasource, query, expr, legend },
      isMetric: metricsQueryType !== undefined,
    }))
}
