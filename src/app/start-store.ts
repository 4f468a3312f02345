import { type CausewayConfig, exporterIdsOf } from '../config/causeway-config.ts'
import { collectGarbage } from '../platform/collect-garbage.ts'
import { systemTimers } from '../platform/system-clock.ts'
import { inferenceRules } from '../store/inference-rules.ts'
import { whyNotPrivate } from '../store/sqlite/private-file.ts'
import { StoreClient } from '../store/store-client.ts'
import type { FromStore } from '../store/store-messages.ts'
import type { Components } from './components.ts'
import type { StartContext } from './start-context.ts'
import type { StorageFault } from '../model/faults.ts'
import type { Cancel, Timers } from '../model/time-and-size.ts'

export interface StartedStore {
  readonly store: StoreClient
  /** The last decisions, and the positions of the exporters. */
  readonly ready: Extract<FromStore, { kind: 'ready' }>
}

/** Starts the store thread, which stores and links. When it resolves, the database is open and migrated. */
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

/** `components` are needed to find the clusters that receivers watch. */
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

const LOOK_EVERY_MS = 1_000
/** Ten times the longest interval between two messages of the store thread, and four times its wait for another program's lock. */
const MOST_SILENT_LOOKS = 20

const NOT_ANSWERING: StorageFault = {
  kind: 'hangs',
  reason:
    `the store thread has not answered for ${(MOST_SILENT_LOOKS * LOOK_EVERY_MS) / 1000} s, and nothing is stored: look ` +
    "whether the disk of the database, or the network below it, hangs (system's log); it goes on by itself once that answers, else end causeway and start it again",
}

/**
 * Detects a store thread that hangs. Counts timer ticks, not elapsed time: if the whole process is suspended, there are no ticks either.
 */
export class StoreWatch implements Disposable {
  readonly #report: (fault: StorageFault | undefined) => void
  readonly #cancel: Cancel
  #silentLooks = 0

  /** `report` is called with the fault, and with undefined when it is over. */
  constructor(timers: Timers, report: (fault: StorageFault | undefined) => void) {
    this.#report = report
    this.#cancel = timers.every(LOOK_EVERY_MS, () => this.#look())
  }

  /** Call it for every message of the thread. */
  heard(): void {
    if (this.#silentLooks >= MOST_SILENT_LOOKS) this.#report(undefined)
    this.#silentLooks = 0
  }

  #look(): void {
    if (++this.#silentLooks === MOST_SILENT_LOOKS) this.#report(NOT_ANSWERING)
  }

  [Symbol.dispose](): void {
    this.#cancel()
  }
}
