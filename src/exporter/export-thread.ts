import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { ExporterConfig } from '../config/causeway-config.ts'
import { errorText, type SetAside } from '../model/faults.ts'
import { type Signal, SIGNALS } from '../model/otlp-requests.ts'
import { MIB } from '../model/time-and-size.ts'
import { typeNamed } from '../config/component-type.ts'
import { collectGarbage } from '../platform/collect-garbage.ts'
import { systemClock } from '../platform/system-clock.ts'
import { SqliteArchiveReader } from '../store/sqlite/archive-reader.ts'
import { SqliteMetricOutbox } from '../store/sqlite/metric-outbox.ts'
import { openForReading, type Sqlite, storageFault } from '../store/sqlite/open-database.ts'
import { SqliteLogOutbox, SqliteOutbox } from '../store/sqlite/outbox.ts'
import type { ExportThreadData, FromExport, ToExport } from './export-messages.ts'
import { Drain, type OutgoingItems, outgoingLogs, outgoingMetrics, outgoingSpans } from './drain.ts'
import { ArchiveDrain } from './archive.ts'
import { openArchive, openTransport, type RetryNotice } from './open-transport.ts'
import type { ExporterTypes } from './exporter-type.ts'

/** Under the 4 MiB that gRPC servers take by default. */
const BATCH_MAX_BYTES = 2 * MIB
/** The stage of an item of each signal that is set aside. */
const KINDS: Record<Signal, string> = { traces: 'decision', logs: 'log decision', metrics: 'metrics' }

/** The thread that sends the outbox; exporters are independent, so that a dead one holds up no other. */
const { path, exporters, archives, keptArchives, authenticators, positions, userAgent, ...data } =
  workerData as ExportThreadData
const { COMPONENTS: components } = (await import(data.components)) as { COMPONENTS: ExporterTypes }

async function run(port: MessagePort): Promise<void> {
  const post = (message: FromExport): void => port.postMessage(message)
  const stop = new AbortController()
  /** Aborted when retries are to stop. */
  const ending = new AbortController()
  let { lastDecisions } = data
  const db = openForReading(path)
  const outbox = new SqliteOutbox(db)
  const items: Record<Signal, OutgoingItems> = {
    traces: outgoingSpans(outbox),
    logs: outgoingLogs(new SqliteLogOutbox(db, outbox)),
    metrics: outgoingMetrics(new SqliteMetricOutbox(db)),
  }
  const drains: Awaited<ReturnType<typeof openDrain>>[] = []
  for (const signal of SIGNALS)
    for (const config of exporters[signal])
      drains.push(await openDrain(config, signal, items[signal], { post, ending: ending.signal }))
  const archiving: Awaited<ReturnType<typeof openArchiveDrain>>[] = []
  for (const config of archives) archiving.push(await openArchiveDrain(config, db, post))
  const isDone = (): boolean => drains.every(({ drain, signal }) => drain.position >= lastDecisions[signal])
  let onMoved = (): void => undefined
  let areArchived = archives.length === 0
  for (const { events } of drains) events.onMoved = () => onMoved()

  port.on('message', (message: ToExport) => {
    switch (message.kind) {
      case 'linked':
        ;({ lastDecisions } = message)
        for (const { drain } of drains) drain.wake()
        return
      case 'collectGarbage':
        collectGarbage()
        return
      case 'stop': {
        const finish = (): void => stop.abort()
        const timer = setTimeout(finish, message.graceMs)
        if (message.isRestart) {
          ending.abort()
          for (const { drain } of drains) drain.finish()
          for (const { drain } of archiving) drain.leave()
        }
        for (const { drain } of archiving) drain.finish()
        onMoved = () => {
          if (isDone() && areArchived) finish()
        }
        onMoved()
        stop.signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
      }
    }
  })
  // The starter waits for the first message; reports of drains come after it.
  post({ kind: 'ready' })
  const archived = Promise.all(archiving.map(({ drain }) => drain.run(stop.signal))).then(() => {
    areArchived = true
    onMoved()
  })
  const drained = drains.map(async ({ drain, transport }) => {
    await drain.run(stop.signal)
    await transport[Symbol.asyncDispose]()
  })
  await Promise.all([...drained, archived])
  for (const { archive } of archiving) await archive[Symbol.asyncDispose]()
  db.close()
  post({ kind: 'stopped' })
  port.close()
}

async function openDrain(
  config: ExporterConfig,
  signal: Signal,
  items: OutgoingItems,
  { post, ending }: { post: (message: FromExport) => void; ending: AbortSignal },
) {
  const exporter = config.id
  const events = { onMoved: (): void => undefined }
  const hooks = hooksOf(exporter, post)
  const transport = await named(exporter, () => openTransport(config, signal, { ...hooks, ending }))
  const drain = new Drain(
    {
      batchMaxItems: config.sending.batchMaxItems,
      batchMaxBytes: BATCH_MAX_BYTES,
      consumers: config.sending.consumers,
    },
    positions[signal].get(exporter) ?? data.lastDecisions[signal],
    items,
    transport,
    {
      onProgress: (progress) => {
        post({ kind: 'moved', signal, exporter, ...progress })
        events.onMoved()
      },
      onDrop: hooks.onDrop,
      onInFlight: (requests) => post({ kind: 'inFlight', signal, exporter, requests }),
      onBroken: (broken) => {
        const at = { stage: 'sending', kind: KINDS[signal], cpid: undefined, exporter } as const
        const items = broken.map(({ decision, reason }): SetAside => ({ ...at, item: decision, reason }))
        post({ kind: 'setAside', items })
      },
      onUnreadable: hooks.onUnreadable,
    },
  )
  return { drain, signal, transport, events }
}

async function openArchiveDrain(config: ExporterConfig, db: Sqlite, post: (message: FromExport) => void) {
  const exporter = config.id
  const kept = keptArchives.get(exporter)
  if (kept === undefined) throw new Error(`the archive ${exporter} has no position`)
  const { retry } = config.sending
  if (retry === undefined) throw new Error(`the archive ${exporter} has no way to try again`)
  const reader = new SqliteArchiveReader(db)
  const hooks = hooksOf(exporter, post)
  const archive = await named(exporter, () => openArchive(config, kept.instance, hooks))
  const type = typeNamed(components.exporters, config.type)
  const drain = new ArchiveDrain(kept.position, {
    ...{ reader, archive, retry, clock: systemClock, random: Math.random },
    intervalMs: type?.archive?.intervalMs(config.settings) ?? 0,
    onMoved: (progress) => post({ kind: 'archived', exporter, ...progress }),
    onRetry: hooks.onRetry,
    onDrop: hooks.onDrop,
    onUnreadable: hooks.onUnreadable,
  })
  return { drain, archive }
}

/** The host and the callbacks of an exporter and its drain. */
function hooksOf(exporter: string, post: (message: FromExport) => void) {
  return {
    ...{ components, userAgent, authenticators },
    writeLine: (line: string) => post({ kind: 'logLine', line }),
    onRetry: ({ reason, delayMs }: RetryNotice) => post({ kind: 'retrying', exporter, reason, delayMs }),
    onTrouble: (reason: string) => post({ kind: 'trouble', exporter, reason }),
    onLoss: (reason: string) => post({ kind: 'archiveLost', exporter, reason }),
    onDrop: ({ items, reason }: { items: number; reason: string }) =>
      post({ kind: 'dropped', exporter, items, reason }),
    onUnreadable: (error: unknown) => tellUnreadable(error, exporter, post),
  }
}

/** Adds the exporter to errors. */
async function named<T>(id: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    const reason = errorText(error)
    throw new Error(`exporters::${id}: ${reason}; correct the setting or take it out`, { cause: error })
  }
}

function tellUnreadable(error: unknown, exporter: string, post: (message: FromExport) => void): void {
  const fault = error === undefined ? undefined : storageFault(error)
  if (error === undefined || fault !== undefined) post({ kind: 'storage', exporter, fault })
  else post({ kind: 'trouble', exporter, reason: `cannot read what it is to send: ${errorText(error)}` })
}

if (parentPort !== null) {
  const port = parentPort
  try {
    await run(port)
  } catch (error) {
    port.postMessage({ kind: 'fatal', reason: errorText(error) } satisfies FromExport)
    port.close()
  }
}
