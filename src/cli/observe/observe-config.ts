/** What is observed, as the command line says it. */
export interface Observed {
  readonly cluster: string
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly namespaces: readonly string[]
  /** Where the database is. */
  readonly database: string
}

/** By which types of component. */
export interface ObservedBy {
  readonly receiver: string
  readonly dashboard: string
}

/** The configuration of a Causeway that watches one cluster and shows what it sees; JSON is YAML as well. */
export function observeConfig({ receiver, dashboard }: ObservedBy, observed: Observed): string {
  const { cluster, kubeconfig, context, namespaces, database } = observed
  const asked = { cluster, auth_type: 'kubeConfig', kubeconfig, context, namespaces }
  return `yaml:${JSON.stringify({
    receivers: { [receiver]: asked },
    // Somebody waits for each cascade.
    connectors: { cpid: { storage: { path: database }, linking: { wait: '3s', settle_after: '30s' } } },
    extensions: { [dashboard]: {} },
    service: {
      extensions: [dashboard],
      telemetry: { logs: { level: 'info', encoding: 'json' }, metrics: { level: 'none' } },
      pipelines: { 'traces/in': { receivers: [receiver], exporters: ['cpid'] } },
    },
  })}`
}
