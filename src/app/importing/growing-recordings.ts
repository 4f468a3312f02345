import type { LongLine } from '../../cluster/json-lines.ts'
import type { UnixNanos } from '../../model/clock.ts'
import { systemClock } from '../system-clock.ts'
import { lastLookMs } from './recorded-clock.ts'
import type { Recording } from './recording.ts'

/** A recording to which nothing came for so long holds the others up no longer. */
const QUIET_MS = 10_000
/** How much before those above them lines may stand in a recording: an API server logs what it did at the same time in any order. */
const OUT_OF_ORDER_NS = 1_000_000_000n

/** Takes a line and says when it was told. */
export type TakeLine = (from: Recording, line: Buffer | LongLine, number: number) => UnixNanos

interface Growing {
  readonly recording: Recording
  lastNs: UnixNanos
  /** When its end was reached; undefined while it is read. */
  endMs: number | undefined
}

/** Reads recordings as they grow, all at the same time, until a signal aborts. */
export class GrowingRecordings implements AsyncDisposable {
  readonly #growing: readonly Growing[]
  readonly #ended = new AbortController()
  readonly #signal: AbortSignal
  readonly #take: TakeLine
  readonly #reading: Promise<unknown>
  #moved = Promise.withResolvers<undefined>()

  /** Rejects in `more` with what to do where one cannot be read any more. */
  constructor(recordings: readonly Recording[], signal: AbortSignal, take: TakeLine) {
    const compressed = recordings.find(({ isCompressed }) => isCompressed)
    if (compressed !== undefined)
      throw new Error(
        `--follow cannot read ${compressed.path}, which is compressed; name the file that is written to`,
      )
    this.#signal = AbortSignal.any([signal, this.#ended.signal])
    this.#take = take
    this.#growing = recordings.map((recording) => ({ recording, lastNs: 0n, endMs: undefined }))
    this.#reading = Promise.all(this.#growing.map((one) => this.#read(one)))
    this.#reading.then(
      () => this.#moved.resolve(undefined),
      (error: unknown) => this.#moved.reject(error),
    )
    this.#moved.promise.catch(() => undefined)
  }

  get isOver(): boolean {
    return this.#signal.aborted
  }

  /** Up to when all has been told of that happened, Unix milliseconds. */
  get toldToMs(): number {
    const nowMs = systemClock.monotonicMs()
    const isQuiet = ({ endMs = nowMs }: Growing): boolean => nowMs - endMs > QUIET_MS
    const times = (some: readonly Growing[]): UnixNanos[] => some.map(({ lastNs }) => lastNs)
    const lively = this.#growing.filter((one) => !isQuiet(one))
    const toldNs =
      lively.length > 0
        ? times(lively).reduce((first, ns) => (ns < first ? ns : first))
        : times(this.#growing).reduce((last, ns) => (ns > last ? ns : last))
    return lastLookMs(toldNs > OUT_OF_ORDER_NS ? toldNs - OUT_OF_ORDER_NS : 0n)
  }

  /** Resolves once the end of each was reached. */
  async firstEnd(): Promise<void> {
    while (!this.isOver && this.#growing.some(({ endMs }) => endMs === undefined)) await this.more()
  }

  /** Resolves once there may be more to do. */
  async more(): Promise<void> {
    await this.#moved.promise
    if (this.isOver) return
    this.#moved = Promise.withResolvers()
    this.#moved.promise.catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    await this.#reading.catch(() => undefined)
  }

  async #read(one: Growing): Promise<void> {
    const { recording } = one
    const onEnd = (): void => {
      one.endMs ??= systemClock.monotonicMs()
      this.#moved.resolve(undefined)
    }
    let number = 0
    for await (const lines of recording.lines({ signal: this.#signal, onEnd })) {
      one.endMs = undefined
      for (const line of lines) {
        const atNs = this.#take(recording, line, ++number)
        if (atNs > one.lastNs) one.lastNs = atNs
      }
    }
  }
}
