import { Worker } from 'node:worker_threads'
import type { Signal } from '../model/ingest.ts'
import type { ExportThreadData, FromExport, ToExport } from './thread-messages.ts'

/** The main thread's side of the export thread. */
export class ExportClient {
  readonly #worker: Worker
  readonly #stopped = Promise.withResolvers<undefined>()
  #isStopping = false

  private constructor(worker: Worker, listener: (message: FromExport) => void) {
    this.#worker = worker
    worker.on('message', (message: FromExport) => {
      listener(message)
      // A connection still being made would keep the thread, and nothing is left for it to do.
      if (message.kind === 'stopped') void worker.terminate()
    })
    worker.on('exit', () => {
      this.#stopped.resolve(undefined)
      if (!this.#isStopping)
        listener({
          kind: 'fatal',
          reason: 'the export thread ended by itself; nothing acknowledged is lost: start Causeway again',
        })
    })
  }

  /** Starts the thread; rejects with what to do when an exporter's settings are unusable. */
  static async start(data: ExportThreadData, listener: (message: FromExport) => void): Promise<ExportClient> {
    const worker = new Worker(new URL('./export-thread.ts', import.meta.url), {
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 2048 },
    })
    const started = Promise.withResolvers<undefined>()
    worker.once('error', (error) => started.reject(error instanceof Error ? error : new Error(String(error))))
    worker.once('message', (message: FromExport) => {
      if (message.kind === 'fatal') started.reject(new Error(message.reason))
      else started.resolve(undefined)
    })
    await started.promise
    return new ExportClient(worker, listener)
  }

  linked(lastDecisions: Record<Signal, number>): void {
    this.#worker.postMessage({ kind: 'linked', lastDecisions } satisfies ToExport)
  }

  /** Sends what it can within the grace period, then ends; the rest is sent after the next start. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#worker.postMessage({ kind: 'stop', graceMs } satisfies ToExport)
    await this.#stopped.promise
  }
}
