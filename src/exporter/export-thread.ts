import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { ExporterConfig } from '../config/causeway-config.ts'
import { errorText, type SetAside } from '../model/faults.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { Transport } from '../model/outbox.ts'
import { MIB } from '../model/time-and-size.ts'
import { openForReading, storageFault } from '../store/sqlite/open-database.ts'
import { SqliteLogOutbox, SqliteOutbox } from '../store/sqlite/outbox.ts'
import type { ExportThreadData, FromExport, ToExport } from './export-messages.ts'
import { Drain, type OutgoingItems, outgoingLogs, outgoingSpans } from './drain.ts'
import { openTransport, type TransportHooks } from './open-transport.ts'
import type { ExporterTypes } from './exporter-type.ts'

/** Under the 4 MiB that gRPC servers take by default. */
const BATCH_MAX_BYTES = 2 * MIB
const SIGNALS: readonly Signal[] = ['traces', 'logs']
/** What a decision about each signal is called where it is set aside. */
const KINDS: Record<Signal, string> = { traces: 'decision', logs: 'log decision' }

/** The thread that sends the outbox; each exporter goes its own way, so that a dead one holds up no other. */
const { path, exporters, authenticators, positions, userAgent, ...data } = workerData as ExportThreadData
const { COMPONENTS: components } = (await import(data.components)) as { COMPONENTS: ExporterTypes }

async function run(port: MessagePort): Promise<void> {
  const post = (message: FromExport): void => port.postMessage(message)
  const stop = new AbortController()
  let { lastDecisions } = data
  const db = openForReading(path)
  const outbox = new SqliteOutbox(db)
  const items: Record<Signal, OutgoingItems> = {
    traces: outgoingSpans(outbox),
    logs: outgoingLogs(new SqliteLogOutbox(db, outbox)),
  }
  const drains: Awaited<ReturnType<typeof openDrain>>[] = []
  for (const signal of SIGNALS)
    for (const config of exporters[signal]) drains.push(await openDrain(config, signal, items[signal], post))
  const isDone = (): boolean => drains.every(({ drain, signal }) => drain.position >= lastDecisions[signal])
  let onMoved = (): void => undefined
  for (const { events } of drains) events.onMoved = () => onMoved()

  port.on('message', (message: ToExport) => {
    switch (message.kind) {
      case 'linked':
        ;({ lastDecisions } = message)
        for (const { drain } of drains) drain.wake()
        return
      case 'stop': {
        const finish = (): void => stop.abort()
        const timer = setTimeout(finish, message.graceMs)
        onMoved = () => {
          if (isDone()) finish()
        }
        onMoved()
        stop.signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
      }
    }
  })
  // The first message is the one that is waited for; what drains tell comes after it.
  post({ kind: 'ready' })
  await Promise.all(drains.map(({ drain }) => drain.run(stop.signal)))
  for (const { transport } of drains) await transport[Symbol.asyncDispose]()
  db.close()
  post({ kind: 'stopped' })
  port.close()
}

async function openDrain(
  config: ExporterConfig,
  signal: Signal,
  items: OutgoingItems,
  post: (message: FromExport) => void,
) {
  const exporter = config.id
  const events = { onMoved: (): void => undefined }
  const transport = await openNamed(config, signal, {
    components,
    userAgent,
    authenticators,
    show: (line) => post({ kind: 'shown', line }),
    onRetry: ({ reason, delayMs }) => post({ kind: 'retrying', exporter, reason, delayMs }),
    onTrouble: (reason) => post({ kind: 'trouble', exporter, reason }),
  })
  const drain = new Drain(
    {
      name: exporter,
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
      onDrop: ({ items, reason }) => post({ kind: 'dropped', exporter, items, reason }),
      onInFlight: (requests) => post({ kind: 'inFlight', signal, exporter, requests }),
      onBroken: (broken) => {
        const at = { stage: 'sending', kind: KINDS[signal], cpid: undefined, exporter } as const
        const items = broken.map(({ decision, reason }): SetAside => ({ ...at, item: decision, reason }))
        post({ kind: 'setAside', items })
      },
      onUnreadable: (error) => {
        const fault = error === undefined ? undefined : storageFault(error)
        if (error === undefined || fault !== undefined) post({ kind: 'storage', exporter, fault })
        else
          post({ kind: 'trouble', exporter, reason: `cannot read what it is to send: ${errorText(error)}` })
      },
    },
  )
  return { drain, signal, transport, events }
}

/** Opens the transport; what is wrong with it names the exporter. */
async function openNamed(config: ExporterConfig, signal: Signal, hooks: TransportHooks): Promise<Transport> {
  try {
    return await openTransport(config, signal, hooks)
  } catch (error) {
    const reason = errorText(error)
    throw new Error(`exporters::${config.id}: ${reason}; correct the setting or take it out`, {
      cause: error,
    })
  }
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
