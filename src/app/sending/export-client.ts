import type { Signal } from '../../model/ingest.ts'
import { ChildThread } from '../../threads/child-thread.ts'
import type { ExportThreadData, FromExport, ToExport } from '../../threads/thread-messages.ts'

/** The main thread's side of the export thread. */
export class ExportClient {
  readonly #thread: ChildThread<ToExport, FromExport>
  #isStopping = false

  private constructor(thread: ChildThread<ToExport, FromExport>, listener: (message: FromExport) => void) {
    this.#thread = thread
    thread.listen((message) => {
      listener(message)
      // A connection still being made would keep the thread, and nothing is left for it to do.
      if (message.kind === 'stopped') thread.terminate()
    })
    void thread.ended.then((why) => {
      if (this.#isStopping) return
      const reason = `the export thread ended by itself (${why}); nothing acknowledged is lost: start Causeway again`
      listener({ kind: 'fatal', reason })
    })
  }

  /** Starts the thread; rejects with what to do when an exporter's settings are unusable. */
  static async start(data: ExportThreadData, listener: (message: FromExport) => void): Promise<ExportClient> {
    const { thread } = await ChildThread.start<ToExport, FromExport>({
      name: 'export',
      file: new URL('./export-thread.ts', import.meta.url),
      data,
      youngMib: 8,
      oldMib: 2048,
    })
    return new ExportClient(thread, listener)
  }

  linked(lastDecisions: Record<Signal, number>): void {
    this.#thread.post({ kind: 'linked', lastDecisions })
  }

  /** Sends what it can within the grace period, then ends; the rest is sent after the next start. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    this.#thread.post({ kind: 'stop', graceMs })
    await this.#thread.ended
  }
}
