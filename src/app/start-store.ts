import { type CausewayConfig, exporterIdsOf } from '../config/causeway-config.ts'
import { collectGarbage } from '../platform/collect-garbage.ts'
import { systemTimers } from '../platform/system-clock.ts'
import { inferenceRules } from '../store/inference-rules.ts'
import { whyNotPrivate } from '../store/sqlite/private-file.ts'
import { StoreClient } from '../store/store-client.ts'
import type { FromStore } from '../store/store-messages.ts'
import type { Components } from './components.ts'
import type { StartContext } from './start-context.ts'
import { StoreWatch } from './store-watch.ts'

export interface StartedStore {
  readonly store: StoreClient
  /** The last decisions, and the position of each exporter. */
  readonly ready: Extract<FromStore, { kind: 'ready' }>
}

/** Starts the thread that stores and links: the database is open and migrated when it resolves. */
export async function startStore({
  config,
  components,
  telemetry,
  open,
  onFatal,
}: StartContext): Promise<StartedStore> {
  const started = await StoreClient.start(threadData(config, components))
  const { store, ready } = started
  open.defer(() => store.stop())
  telemetry.exporters.begin(ready)
  const wide = whyNotPrivate(config.cpid.storage.path)
  if (wide !== undefined) telemetry.notice(wide)
  const watch = open.use(new StoreWatch(systemTimers, (fault) => telemetry.storage('store thread', fault)))
  store.onMessage((message) => {
    watch.heard()
    telemetry.fromStore(message)
    if (message.kind === 'fatal') onFatal(message.reason)
    if (message.kind === 'resting') collectGarbage()
  })
  return started
}

/** `components` say which clusters are watched. */
function threadData(config: CausewayConfig, components: Components) {
  const { cpid, receivers, pipelines } = config
  const { outLogs } = pipelines
  const inference = inferenceRules(cpid.inference, receivers, components)
  const seen = Object.values(inference.clusters)
  return {
    inference,
    path: cpid.storage.path,
    linking: {
      ...cpid.linking,
      logs: outLogs.length > 0,
      awaitsRequests: seen.some(({ requests, admissions }) => requests || admissions === true),
      awaitsPods: seen.length > 0,
    },
    maxSources: cpid.maxSources,
    keepsFilters: cpid.keepsFilters,
    maxSeries: cpid.metrics.maxSeries,
    ...(cpid.senders && { senders: cpid.senders }),
    retention: cpid.retention,
    ...exporterIdsOf(config),
  }
}
