import { nanosOfMs } from '../../model/clock.ts'
import { toldOfBytes } from '../../model/kubernetes/telling-bytes.ts'
import type { Observation } from '../../model/kubernetes/observation.ts'
import {
  NO_LINES,
  withLine,
  type OrderedLine,
  type OrderedLines,
} from '../../sqlite/importing/ordered-lines.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { ImportCounts } from './import-counts.ts'
import { IMPORT_STREAM, writePlace, type ImportPlace } from './import-place.ts'
import type { LivedTime } from './lived-time.ts'
import { firstLookMs } from './recorded-clock.ts'

const MOST_TOGETHER = 500

/** What an import works with. */
export interface ImportedInto {
  readonly cluster: string
  readonly writer: StoreWriter
  readonly time: LivedTime
  readonly lines: OrderedLines
  readonly counts: ImportCounts
}

/**
 * Tells a writer of the lines of recordings in their order, each at the time at which it was told then, in small turns. Where it
 * stands is stored with what the turns stored: a later process goes on from there as this one would have.
 */
export class LineImport {
  readonly #into: ImportedInto
  #last: ImportPlace['last'] | undefined
  #told: ImportPlace['told']
  /** Lines that are read from the file of all lines, and not told. */
  #next: OrderedLine[] = []

  /** `place` is where the lines that are at hand were told to. */
  constructor(into: ImportedInto, place: Pick<ImportPlace, 'last' | 'told'> | undefined) {
    this.#into = into
    this.#last = place?.last
    this.#told = place?.told ?? NO_LINES
  }

  /** A line that came too late is told next. */
  notBeforeTold(line: OrderedLine): OrderedLine {
    // Those that are next may come after it.
    this.#next = []
    const last = this.#last
    return last === undefined || line.atNs > last.atNs ? line : { ...line, atNs: last.atNs + 1n }
  }

  /** Something can be done up to a moment, Unix milliseconds, or at all. */
  mayTurn(untilMs = Infinity): boolean {
    const nextMs = this.#nextMs()
    return nextMs !== undefined && nextMs <= untilMs
  }

  /** Does some of what can be done up to a moment, or at all, and stores it together with where it stands. */
  turns(most: number, untilMs = Infinity): void {
    this.#into.writer.together(() => {
      for (let turns = 0; turns < most && this.mayTurn(untilMs); turns++) this.#turn()
      this.#save(this.#into.writer.inference.waitingOf(this.#into.cluster))
    })
  }

  /** The recording is over, and nothing is left to do. */
  end(): void {
    this.#into.writer.together(() => this.#save(undefined))
  }

  #turn(): void {
    const { time } = this.#into
    const tellMs = this.#tellMs
    if (tellMs !== undefined && tellMs <= time.nowMs) this.#tell()
    else time.goTowards(this.#nextMs() ?? time.nowMs)
  }

  /** When something is to be done next; undefined where nothing is. */
  #nextMs(): number | undefined {
    const [tellMs, lookMs] = [this.#tellMs, this.#into.time.nextLookMs]
    return tellMs === undefined || lookMs === undefined ? (tellMs ?? lookMs) : Math.min(tellMs, lookMs)
  }

  /** When the next line is told; undefined where there is none. */
  get #tellMs(): number | undefined {
    const next = this.#nextLine()
    return next && Math.max(firstLookMs(next.atNs), this.#into.time.nowMs)
  }

  #save(waiting: ImportPlace['waiting']): void {
    const { writer, cluster, time } = this.#into
    if (this.#last === undefined) return
    const place = { last: this.#last, told: this.#told, clockMs: time.nowMs, waiting }
    writer.inference.moveTo(cluster, IMPORT_STREAM, writePlace(place))
  }

  /** Tells of all that was told by now, or some of it. */
  #tell(): void {
    const { cluster, time, counts } = this.#into
    const nowNs = nanosOfMs(time.nowMs)
    const told: Observation[] = []
    let bytes = 0
    for (let most = MOST_TOGETHER; most > 0; most--) {
      const line = this.#nextLine()
      if (line === undefined || line.atNs > nowNs) break
      this.#next.shift()
      this.#last = { atNs: line.atNs, version: line.version, hash: line.hash }
      this.#told = withLine(this.#told, line.hash)
      counts.add(line.skipped)
      bytes += line.told.length
      if (line.told.length > 0) told.push(...(toldOfBytes(line.told) as Observation[]))
    }
    if (told.length > 0) time.take(cluster, told, bytes)
  }

  #nextLine(): OrderedLine | undefined {
    if (this.#next.length === 0) this.#next = this.#into.lines.after(this.#last, MOST_TOGETHER)
    return this.#next[0]
  }
}
