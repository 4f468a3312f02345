import { tmpdir } from 'node:os'
import {
  OWN_CAUSEWAY,
  startMeasuredCauseway,
  type MeasuredCauseway,
} from '../../harness/causeway/measured-causeway.ts'
import { eventually } from '../../harness/eventually.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { sendRecorded } from '../../../packages/control-plane/telemetry/send-recorded.ts'

const MOST_CASCADES = 500
const LONGEST_WAIT_MS = 120_000

/** How long a cascade took and how many spans were received of it: those that it drives, and all that stand in it. */
export interface AskedCascade {
  driven: { durationMs: number; spans: number }
  all: { durationMs: number; spans: number }
  /** The ids of the spans that it drives, in hex. */
  activity: string[]
}

interface List {
  cascades: { root: string; state: string }[]
}

interface Answer {
  durationMs: number
  spans: number
  traces: {
    spans: { spanId: string; offsetMs: number; durationMs: number; synthetic: boolean; activity?: false }[]
  }[]
}

/** A Causeway of its own, with an empty database that goes with it. */
export class RealCauseway implements AsyncDisposable {
  readonly #causeway: MeasuredCauseway
  readonly #stop: () => Promise<void>

  private constructor(causeway: MeasuredCauseway, stop: () => Promise<void>) {
    this.#causeway = causeway
    this.#stop = stop
  }

  /** `sets` are further settings, as `--set` takes them. */
  static async start(sets: readonly string[] = []): Promise<RealCauseway> {
    await using open = new AsyncDisposableStack()
    const directory = open.use(freshDirectory(tmpdir()))
    const causeway = await startMeasuredCauseway(OWN_CAUSEWAY, directory.path, undefined, sets)
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

  /** All cascades, once they have settled. */
  async cascades(): Promise<AskedCascade[]> {
    const at = `${this.#causeway.query}/api/v1/cascades`
    const list = await eventually(async () => {
      const some = JSON.parse(await this.#read(`${at}?limit=${MOST_CASCADES}`)) as List
      const isOver = some.cascades.length > 0 && some.cascades.every(({ state }) => state === 'settled')
      if (!isOver) throw new Error('some are open')
      return some
    }, LONGEST_WAIT_MS)
    const asked: AskedCascade[] = []
    for (const { root } of list.cascades) {
      const { durationMs, spans, traces } = JSON.parse(await this.#read(`${at}/${root}`)) as Answer
      const received = traces.flatMap((trace) => trace.spans).filter(({ synthetic }) => !synthetic)
      const ends = received.map((span) => span.offsetMs + span.durationMs)
      const all = { durationMs: Math.max(durationMs, ...ends), spans: received.length }
      const activity = received.flatMap((span) => (span.activity === false ? [] : span.spanId))
      asked.push({ driven: { durationMs, spans }, all, activity })
    }
    return asked
  }

  async #read(url: string): Promise<string> {
    return (await fetch(`http://${url}`)).text()
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
