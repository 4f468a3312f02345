import type { RetryConfig } from '../config/causeway-config.ts'
import {
  type ArchivedFacts,
  type ArchivePosition,
  type ArchiveReader,
  type ArchiveReading,
  noFacts,
} from '../model/archive.ts'
import { errorText } from '../model/faults.ts'
import type { Clock } from '../model/time-and-size.ts'
import { type RetryNotice, retryDelayMs, sleep as realSleep, type Sleep } from './open-transport.ts'

/** Writes facts into an archive. `write` never rejects. */
export interface Archive extends AsyncDisposable {
  /** A batch is retried with the same version until it is written. `onSent` is called when only an answer is waited for. */
  write(batch: ArchiveBatch, signal: AbortSignal, onSent: () => void): Promise<ArchiveOutcome>
}

export interface ArchiveBatch {
  readonly facts: ArchivedFacts
  readonly version: number
  /** The version of the last batch that was written; 0 for none. */
  readonly before: number
  readonly nowMs: number
}

/**
 * The outcome of a batch.
 * - written: all of it is stored, except for `refused` rows that ClickHouse cannot take.
 * - retry: some of it may be stored; write it again.
 */
export type ArchiveOutcome =
  { kind: 'written'; rows: number; refused: number; message: string } | { kind: 'retry'; reason: string }

interface ArchiveProgress {
  readonly position: ArchivePosition
  readonly delivered: number
  readonly refused: number
}

interface ArchiveDrainParts {
  readonly reader: ArchiveReader
  readonly archive: Archive
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs'>
  /** The pause before it looks for new data once it has caught up, so that inserts are large. */
  readonly intervalMs: number
  readonly retry: RetryConfig
  readonly random: () => number
  readonly sleep?: Sleep
  readonly onMoved: (progress: ArchiveProgress) => void
  readonly onRetry: (notice: RetryNotice) => void
  readonly onDrop: (dropped: { items: number; reason: string }) => void
  /** Called when the database cannot be read, which is retried; with undefined once it can be again. */
  readonly onUnreadable: (error: unknown) => void
}

/** What was read, and when. */
interface Found {
  readonly reading: ArchiveReading
  readonly nowMs: number
}

const READ_AGAIN_MS = 5_000
/** The heartbeat: written even if nothing changed, so that no other Causeway takes the name. */
const SHOWS_ITSELF_MS = 20_000
const LOST =
  'refused mergelogs, which were not kept until the archive could take them; raise retention::max_age and max_bytes, or mend the archive sooner'

/** Copies stored facts into one archive, in order, from its position. Retries without end. */
export class ArchiveDrain {
  readonly #parts: ArchiveDrainParts
  readonly #sleep: Sleep
  #position: ArchivePosition
  #isUnreadable = false
  /** Read while the batch before it was written. */
  #ahead: Found | 'unreadable' | undefined
  /** Aborted by `finish`: then what is stored is written without pauses, and `run` ends. */
  readonly #finishing = new AbortController()
  /** Aborted by `leave`. */
  readonly #leaving = new AbortController()

  constructor(position: ArchivePosition, parts: ArchiveDrainParts) {
    this.#position = position
    this.#parts = parts
    this.#sleep = parts.sleep ?? realSleep
  }

  /** Ends `run` once everything stored now is written. */
  finish(): void {
    this.#finishing.abort()
  }

  /** Ends `run` once the batch in flight is written, or has failed. */
  leave(): void {
    this.#leaving.abort()
  }

  /** Writes until finished or aborted; a batch that is then in flight is repeated after a restart. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const left = AbortSignal.any([signal, this.#leaving.signal])
    const stopped = (): boolean => left.aborted
    const rested = AbortSignal.any([left, this.#finishing.signal])
    const { clock } = this.#parts
    let writtenMs = -Infinity
    while (!stopped()) {
      const read = this.#ahead ?? this.#readable(this.#position)
      this.#ahead = undefined
      if (read === 'unreadable') {
        await this.#sleep(READ_AGAIN_MS, rested)
        if (this.#finishing.signal.aborted) return
        continue
      }
      // The first write happens in any case, to create the tables.
      const isDue = clock.monotonicMs() - writtenMs >= SHOWS_ITSELF_MS
      const found = read ?? (isDue ? this.#nothing() : undefined)
      if (found !== undefined && !(await this.#write(found, signal, left))) return
      if (found !== undefined) writtenMs = clock.monotonicMs()
      if (found?.reading.hasMore === true) continue
      if (this.#finishing.signal.aborted && found === undefined) return
      if (!this.#finishing.signal.aborted) await this.#sleep(this.#parts.intervalMs, rested)
    }
  }

  #nothing(): Found {
    const reading = { facts: noFacts(), upTo: this.#position, hasMore: false, lost: 0 }
    return { reading, nowMs: this.#nowMs() }
  }

  #nowMs(): number {
    return Math.trunc(this.#parts.clock.wallMs())
  }

  #readable(after: ArchivePosition): Found | undefined | 'unreadable' {
    try {
      const nowMs = this.#nowMs()
      const reading = this.#parts.reader.after(after)
      if (this.#isUnreadable) this.#parts.onUnreadable(undefined)
      this.#isUnreadable = false
      return reading && { reading, nowMs }
    } catch (error) {
      this.#isUnreadable = true
      this.#parts.onUnreadable(error)
      return 'unreadable'
    }
  }

  /** False if stopped before everything was written; `left` aborts only what is not in flight. */
  async #write({ reading, nowMs }: Found, signal: AbortSignal, left: AbortSignal): Promise<boolean> {
    const { archive, retry, random, onRetry, onDrop, onMoved } = this.#parts
    const { facts, upTo, hasMore, lost } = reading
    const version = Math.max(this.#position.version + 1, nowMs * 1_000)
    const batch: ArchiveBatch = { facts, version, before: this.#position.version, nowMs }
    const readAhead = (): void => {
      if (hasMore && !left.aborted) this.#ahead = this.#readable(upTo)
    }
    const stopped = (): boolean => left.aborted
    for (let intervalMs = retry.initialIntervalMs; ;) {
      const outcome = await written(archive, batch, signal, readAhead)
      if (outcome.kind === 'written') {
        this.#position = { ...upTo, version }
        if (lost > 0) onDrop({ items: lost, reason: LOST })
        if (outcome.refused > 0) onDrop({ items: outcome.refused, reason: outcome.message })
        onMoved({ position: this.#position, delivered: outcome.rows, refused: outcome.refused + lost })
        return true
      }
      // It may take long until it is written, and what is stored changes.
      this.#ahead = undefined
      if (stopped()) return false
      const delayMs = retryDelayMs(intervalMs, undefined, retry, random)
      onRetry({ reason: outcome.reason, delayMs })
      await this.#sleep(delayMs, left)
      if (stopped()) return false
      intervalMs = Math.min(intervalMs * retry.multiplier, retry.maxIntervalMs)
    }
  }
}

async function written(
  archive: Archive,
  batch: ArchiveBatch,
  signal: AbortSignal,
  onSent: () => void,
): Promise<ArchiveOutcome> {
  try {
    return await archive.write(batch, signal, onSent)
  } catch (error) {
    return { kind: 'retry', reason: errorText(error) }
  }
}
