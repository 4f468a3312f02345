import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import type { ExporterConfig } from '../config/causeway-config.ts'
import { Drain } from '../exporter/drain.ts'
import { openForReading } from '../sqlite/open-database.ts'
import { SqliteOutbox } from '../sqlite/outbox-reader.ts'
import type { Transport } from '../model/send-outcome.ts'
import type { Credentials } from '../trust/authenticator.ts'
import { openCredentials } from './authenticators.ts'
import { openTransport, type TransportHooks } from './open-transport.ts'
import type { ExportThreadData, FromExport, ToExport } from './thread-messages.ts'

/** Under the 4 MiB that gRPC servers take by default. */
const BATCH_MAX_BYTES = 2 * 1024 * 1024
const DEBUG_BATCH_SPANS = 512

/** The thread that sends the outbox; each exporter goes its own way, so that a dead one holds up no other. */
const { path, exporters, authenticators, positions, userAgent, ...data } = workerData as ExportThreadData

async function run(port: MessagePort): Promise<void> {
  const post = (message: FromExport): void => port.postMessage(message)
  const stop = new AbortController()
  let lastDecision = data.lastDecision
  const db = openForReading(path)
  const outbox = new SqliteOutbox(db)
  const drains = exporters.map((config) => startDrain(config, outbox, post))
  const running = drains.map(({ drain }) => drain.run(stop.signal))
  const isDone = (): boolean => drains.every(({ drain }) => drain.position >= lastDecision)
  let onMoved = (): void => undefined
  for (const { events } of drains) events.onMoved = () => onMoved()

  port.on('message', (message: ToExport) => {
    switch (message.kind) {
      case 'linked':
        lastDecision = message.lastDecision
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
  post({ kind: 'ready' })
  await Promise.all(running)
  for (const { transport } of drains) await transport[Symbol.asyncDispose]()
  db.close()
  post({ kind: 'stopped' })
  port.close()
}

function startDrain(config: ExporterConfig, outbox: SqliteOutbox, post: (message: FromExport) => void) {
  const exporter = config.id
  const events = { onMoved: (): void => undefined }
  const transport = openNamed(config, {
    userAgent,
    show: (line) => post({ kind: 'shown', line }),
    onRetry: ({ reason, delayMs }) => post({ kind: 'retrying', exporter, reason, delayMs }),
    onTrouble: (reason) => post({ kind: 'trouble', exporter, reason }),
  })
  const drain = new Drain(
    {
      name: exporter,
      batchMaxSpans: config.kind === 'debug' ? DEBUG_BATCH_SPANS : config.queue.batchMaxSpans,
      batchMaxBytes: BATCH_MAX_BYTES,
      consumers: config.kind === 'debug' ? 1 : config.queue.consumers,
    },
    positions.get(exporter) ?? data.lastDecision,
    outbox,
    transport,
    {
      onProgress: (progress) => {
        post({ kind: 'moved', exporter, ...progress })
        events.onMoved()
      },
      onDrop: ({ items, reason }) => post({ kind: 'dropped', exporter, items, reason }),
      onInFlight: (requests) => post({ kind: 'inFlight', exporter, requests }),
    },
  )
  return { drain, transport, events }
}

function credentialsNamed(auth: string | undefined, { onTrouble }: TransportHooks): Credentials | undefined {
  if (auth === undefined) return undefined
  const named = authenticators.find(({ id }) => id === auth)
  if (named === undefined) throw new Error(`the authenticator ${auth} is not there`)
  return openCredentials(named, onTrouble)
}

/** Opens the transport; what is wrong with it names the exporter. */
function openNamed(config: ExporterConfig, hooks: TransportHooks): Transport {
  try {
    const auth = config.kind === 'debug' ? undefined : config.auth
    return openTransport(config, { ...hooks, credentials: credentialsNamed(auth, hooks) })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
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
    const reason = error instanceof Error ? error.message : String(error)
    port.postMessage({ kind: 'fatal', reason } satisfies FromExport)
    port.close()
  }
}
