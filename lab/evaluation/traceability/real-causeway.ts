import { tmpdir } from 'node:os'
import {
  OWN_CAUSEWAY,
  startMeasuredCauseway,
  type MeasuredCauseway,
} from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { sendRecorded } from '../../../packages/control-plane/telemetry/send-recorded.ts'

/** A Causeway of its own, with an empty database that goes with it. */
export class RealCauseway implements AsyncDisposable {
  readonly #causeway: MeasuredCauseway
  readonly #stop: () => Promise<void>

  private constructor(causeway: MeasuredCauseway, stop: () => Promise<void>) {
    this.#causeway = causeway
    this.#stop = stop
  }

  static async start(): Promise<RealCauseway> {
    await using open = new AsyncDisposableStack()
    const directory = open.use(freshDirectory(tmpdir()))
    const causeway = await startMeasuredCauseway(OWN_CAUSEWAY, directory.path)
    open.defer(() => causeway.stop())
    const owned = open.move()
    return new RealCauseway(causeway, () => owned.disposeAsync())
  }

  take(recorder: Recorder): Promise<void> {
    return sendRecorded(recorder, `http://${this.#causeway.httpEndpoint}`)
  }

  async relatedOf(cpid: string): Promise<Set<string>> {
    const url = `http://${this.#causeway.query}/api/v1/cpids/${cpid}/related`
    const answer = (await (await fetch(url)).json()) as { related: string[] }
    return new Set(answer.related)
  }

  /** How many mergelogs it refused so far, by reason. */
  async refused(): Promise<Record<string, number>> {
    const text = await (await fetch(`http://${this.#causeway.metrics}/metrics`)).text()
    const lines = text.matchAll(/^cpid_mergelogs_refused\{[^}]*reason="([^"]+)"[^}]*\} (\d+)$/gm)
    return Object.fromEntries([...lines].map(([, reason = '', count]) => [reason, Number(count)]))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop()
  }
}
