import { setImmediate as nextTurn } from 'node:timers/promises'
import { deserialize, serialize } from 'node:v8'
import { type CausewayConfig, exporterIdsOf } from '../config/causeway-config.ts'
import type { ClusterInferenceState } from '../kube/inference/cluster-inference.ts'
import { parseRelations } from '../kube/inference/relations.ts'
import type { LongLine } from '../kube/objects/object-json.ts'
import { errorText } from '../model/faults.ts'
import type { ReadingRules } from '../model/kubernetes-objects.ts'
import {
  deserializeObservations,
  type Observation,
  type SkipReason,
} from '../model/kubernetes-observations.ts'
import { ownValue } from '../model/untrusted-names.ts'
import { nanosOfMs } from '../model/time-and-size.ts'
import { inferenceRules, soughtReferences } from '../store/inference-rules.ts'
import {
  type LineKey,
  NO_LINES,
  type OrderedLine,
  OrderedLines,
  type SetOfLines,
  withLine,
} from '../store/sqlite/import-order.ts'
import { migrate } from '../store/sqlite/migrate.ts'
import { closeWriting, holdDatabase, openForWriting, storageFault } from '../store/sqlite/open-database.ts'
import { sqliteStores } from '../store/sqlite/writer-stores.ts'
import { StoreWriter } from '../store/store-writer.ts'
import { firstTickAtOrAfterMs, RecordedClock, ReplayedTime } from './recorded-time.ts'
import { GrowingRecordings, type NamedRecording, readLine, Recording } from './recordings.ts'

/**
 * Imports recordings of a cluster into the configured database, which is created if missing, and which no running Causeway may use.
 * Sends nothing: a Causeway that is started on the database later does. Rejects with what to do.
 */
export async function importInto(
  config: CausewayConfig,
  cluster: string,
  recordings: readonly NamedRecording[],
  options: ImportOptions = {},
): Promise<Imported> {
  const { cpid, pipelines } = config
  const { path } = cpid.storage
  const db = openForWriting(path)
  let hold: Disposable | undefined
  try {
    hold = holdDatabase(path)
    await migrate(db)
    const inference = {
      ...inferenceRules(cpid.inference, [], { receivers: [] }),
      // No sender reports spans during an import.
      tellingWaitMs: 0,
      clusters: { [cluster]: seenBy(recordings) },
    }
    const { relations, fieldValues } = cpid.inference
    const reading = { references: parseRelations(relations).references, fieldValues }
    const openWriter: OpenWriter = (startMs) => {
      const clock = new RecordedClock(startMs)
      const stores = sqliteStores(
        db,
        { retention: cpid.retention, sought: soughtReferences(inference) },
        clock,
      )
      const linking = { ...cpid.linking, logs: pipelines.outLogs.length > 0 }
      const { maxSources, retention, senders } = cpid
      const writer = new StoreWriter(
        stores,
        { linking, maxSources, retention, inference, ...(senders && { senders }) },
        clock,
      )
      const { exporters, archives } = exporterIdsOf(config)
      writer.keepExporters('traces', exporters.traces)
      writer.keepExporters('logs', exporters.logs)
      writer.keepArchives(archives)
      return { writer, clock }
    }
    const stored = sqliteStores(db, { retention: cpid.retention }, new RecordedClock(0)).transactor.run(
      ({ inference: kept }) => kept.position(cluster, IMPORT_STREAM),
      { mayOnlyRead: true },
    )
    return await importRecordings({ cluster, recordings, reading, openWriter, stored }, options)
  } catch (cause) {
    if (storageFault(cause) === undefined) throw cause
    throw new Error(
      `the database ${path}, or what is sorted in the temporary folder, cannot be written any more: ${errorText(cause)}; make room, or ` +
        'mend the disk, and name the same files again: it goes on where it ended',
      { cause },
    )
  } finally {
    closeWriting(db)
    hold?.[Symbol.dispose]()
  }
}

function seenBy(recordings: readonly NamedRecording[]): { versions: boolean; requests: boolean } {
  const has = (of: NamedRecording['source']): boolean => recordings.some(({ source }) => source === of)
  return { versions: has('watch'), requests: has('audit') }
}

/** How many turns are committed in one transaction. */
const TURNS_TOGETHER = 400
/** A key that sorts after all lines without a time. */
const TIMELESS = { atNs: 0n, version: 2n ** 63n - 1n, hash: Buffer.alloc(0) }

export interface ImportOptions {
  /** The recordings are still written: imports new lines until it aborts. The end of a file settles nothing. */
  readonly follow?: AbortSignal
  /** How many turns are committed at once; 400 unless given. */
  readonly turnsTogether?: number
}

/** Begins to write at a time of a recording, Unix milliseconds. */
type OpenWriter = (startMs: number) => { writer: StoreWriter; clock: RecordedClock }

interface RecordingsOfCluster {
  readonly cluster: string
  readonly recordings: readonly NamedRecording[]
  readonly reading: ReadingRules
  readonly openWriter: OpenWriter
  /** The stored checkpoint of the last import of the cluster. */
  readonly stored: string | undefined
}

/**
 * Stores what a Causeway would have stored if it had run when the recordings were made. The result depends on the lines of all recordings
 * together: not on which file a line is in, nor on how often the import was interrupted. Rejects with what to do if a recording cannot be
 * read.
 */
export async function importRecordings(
  of: RecordingsOfCluster,
  { follow, turnsTogether = TURNS_TOGETHER }: ImportOptions = {},
): Promise<Imported> {
  const recordings = await Promise.all(of.recordings.map((named) => Recording.open(named)))
  using lines = new OrderedLines()
  const counts = new ImportCounts()
  let begun: LineImport | undefined
  const add = ({ source, path }: Recording, line: Buffer | LongLine, number: number): bigint => {
    const read = readLine(source, line, of.reading)
    if (read === undefined) return 0n
    if ('fault' in read) {
      counts.addFault(path, number, read.fault)
      return 0n
    }
    const isNew = lines.add(begun?.notBeforeLast(read.line) ?? read.line, read.isTimed)
    if (!isNew) counts.known++
    return read.line.atNs
  }
  const work = async (untilMs?: number): Promise<void> => {
    begun ??= begin(of, lines, counts, untilMs)
    while (begun?.mayTurn(untilMs) === true && follow?.aborted !== true) {
      begun.turns(turnsTogether, untilMs)
      await nextTurn()
    }
  }
  if (follow === undefined) {
    for (const recording of recordings) {
      let number = 0
      for await (const some of recording.lines()) {
        for (const line of some) {
          if ('blank' in line) number += line.blank
          else add(recording, line, ++number)
        }
      }
      if (recording.isCutShort)
        counts.warnings.push(
          `${recording.path} was cut off: its gzip does not end, and what came after is missing; name a whole copy of it`,
        )
    }
    await work()
    begun?.end()
  } else {
    await using growing = new GrowingRecordings(recordings, follow, add)
    await growing.firstEnd()
    while (!growing.isOver) {
      await work(growing.readToMs)
      await growing.more()
    }
  }
  return counts
}

/** Continues after the last import of the cluster. Undefined if there is nothing to do. */
function begin(
  { cluster, openWriter, stored }: RecordingsOfCluster,
  lines: OrderedLines,
  counts: ImportCounts,
  untilMs = Infinity,
): LineImport | undefined {
  const before = stored === undefined ? undefined : readPlace(stored)
  const place = before && placeAmong(lines, before)
  const [next] = lines.after(place?.last, 1)
  const isUnfinished = before?.waiting !== undefined
  const [first = next] = lines.after(place?.last ?? TIMELESS, 1)
  const startMs = isUnfinished ? before.clockMs : first && firstTickAtOrAfterMs(first.atNs)
  counts.known += place?.imported.lines ?? 0
  if (startMs === undefined || (startMs > untilMs && !isUnfinished)) return undefined
  if (before !== undefined) warn(before, place !== undefined, counts)
  const { writer, clock } = openWriter(startMs)
  writer.inference.readStored()
  if (before?.waiting !== undefined) writer.inference.goOnFrom(cluster, before.waiting)
  return new LineImport({ cluster, writer, time: new ReplayedTime(writer, clock), lines, counts }, place)
}

/** The checkpoint of the last import; undefined if that read other lines than those of these recordings. */
function placeAmong(lines: OrderedLines, before: ImportCheckpoint): ImportCheckpoint | undefined {
  const there = lines.upTo(before.last)
  const areSame = there.lines === before.imported.lines && there.digest === before.imported.digest
  return areSame ? before : undefined
}

function warn({ waiting, clockMs }: ImportCheckpoint, areSame: boolean, { warnings }: ImportCounts): void {
  const time = new Date(clockMs).toISOString()
  if (waiting !== undefined && !areSame)
    warnings.push(
      `an import of this cluster was interrupted at ${time} of its recordings, which had other lines than these: name the same files to go on with it`,
    )
  else if (waiting === undefined && areSame)
    warnings.push(
      `an import of this cluster had ended at ${time} of its recordings, and what was open then was settled: import recordings that grow with --follow`,
    )
}

const MOST_TOGETHER = 500

/** The parts of an import. */
interface ImportedInto {
  readonly cluster: string
  readonly writer: StoreWriter
  readonly time: ReplayedTime
  readonly lines: OrderedLines
  readonly counts: ImportCounts
}

/**
 * Passes the lines of recordings to a writer in order, each at its recorded time, in small turns. A checkpoint is stored in the same
 * transaction as what the turns stored, so that a later process continues exactly there.
 */
class LineImport {
  readonly #into: ImportedInto
  #last: ImportCheckpoint['last'] | undefined
  #imported: ImportCheckpoint['imported']
  /** Lines that were read, and not passed on yet. */
  #next: OrderedLine[] = []

  /** `place`: the checkpoint after the last line of these recordings that was passed on. */
  constructor(into: ImportedInto, place: Pick<ImportCheckpoint, 'last' | 'imported'> | undefined) {
    this.#into = into
    this.#last = place?.last
    this.#imported = place?.imported ?? NO_LINES
  }

  /** The line, moved to just after the last line that was passed on if it is earlier. */
  notBeforeLast(line: OrderedLine): OrderedLine {
    // The lines read ahead may sort after it.
    this.#next = []
    const last = this.#last
    return last === undefined || line.atNs > last.atNs ? line : { ...line, atNs: last.atNs + 1n }
  }

  /** Whether there is work up to a moment, in Unix milliseconds; without one, any work. */
  mayTurn(untilMs = Infinity): boolean {
    const nextMs = this.#nextMs()
    return nextMs !== undefined && nextMs <= untilMs
  }

  /** Does at most `most` turns, up to a moment if one is given, and stores the results together with a checkpoint. */
  turns(most: number, untilMs = Infinity): void {
    this.#into.writer.inOneCommit(() => {
      for (let turns = 0; turns < most && this.mayTurn(untilMs); turns++) this.#turn()
      this.#save(this.#into.writer.inference.waitingOf(this.#into.cluster))
    })
  }

  /** Stores that the recording has ended with nothing left to do. */
  end(): void {
    this.#into.writer.inOneCommit(() => this.#save(undefined))
  }

  #turn(): void {
    const { time } = this.#into
    const dueMs = this.#dueMs
    if (dueMs !== undefined && dueMs <= time.nowMs) this.#takeDue()
    else time.goTowards(this.#nextMs() ?? time.nowMs)
  }

  /** When the next work is due, in Unix milliseconds; undefined without work. */
  #nextMs(): number | undefined {
    const [dueMs, lookMs] = [this.#dueMs, this.#into.time.nextLookMs]
    return dueMs === undefined || lookMs === undefined ? (dueMs ?? lookMs) : Math.min(dueMs, lookMs)
  }

  /** When the next line is due, in Unix milliseconds; undefined without one. */
  get #dueMs(): number | undefined {
    const next = this.#nextLine()
    return next && Math.max(firstTickAtOrAfterMs(next.atNs), this.#into.time.nowMs)
  }

  #save(waiting: ImportCheckpoint['waiting']): void {
    const { writer, cluster, time } = this.#into
    if (this.#last === undefined) return
    const place = { last: this.#last, imported: this.#imported, clockMs: time.nowMs, waiting }
    writer.inference.moveTo(cluster, IMPORT_STREAM, writePlace(place))
  }

  /** Passes on lines that are due, up to a bound. */
  #takeDue(): void {
    const { cluster, time, counts } = this.#into
    const nowNs = nanosOfMs(time.nowMs)
    const observations: Observation[] = []
    let bytes = 0
    for (let most = MOST_TOGETHER; most > 0; most--) {
      const line = this.#nextLine()
      if (line === undefined || line.atNs > nowNs) break
      this.#next.shift()
      this.#last = { atNs: line.atNs, version: line.version, hash: line.hash }
      this.#imported = withLine(this.#imported, line.hash)
      counts.add(line.skipped)
      bytes += line.observations.length
      if (line.observations.length > 0)
        observations.push(...(deserializeObservations(line.observations) as Observation[]))
    }
    if (observations.length > 0) time.take(cluster, observations, bytes)
  }

  #nextLine(): OrderedLine | undefined {
    if (this.#next.length === 0) this.#next = this.#into.lines.after(this.#last, MOST_TOGETHER)
    return this.#next[0]
  }
}

/** How far an import of a cluster has come. It is stored together with the results up to there. */
interface ImportCheckpoint {
  /** The last line that was passed on. */
  readonly last: LineKey
  /** The lines up to it. */
  readonly imported: SetOfLines
  /** The clock of the recording, Unix milliseconds. */
  readonly clockMs: number
  /** Writes that are not decided yet; undefined once the recording has ended and everything is settled. */
  readonly waiting: ClusterInferenceState | undefined
}

/** The name under which the checkpoint is stored, beside the streams of the receivers of the cluster. */
export const IMPORT_STREAM = 'import'

interface Written {
  last: { atNs: string; version: string; hash: string }
  lines: number
  digest: string
  clockMs: number
  /** Base64 of V8's serialization, which preserves shared references. */
  waiting?: string
}

function writePlace({ last, imported, clockMs, waiting }: ImportCheckpoint): string {
  const written: Written = {
    last: { atNs: `${last.atNs}`, version: `${last.version}`, hash: last.hash.toString('hex') },
    ...{ lines: imported.lines, digest: imported.digest.toString(16), clockMs },
    ...(waiting && { waiting: serialize(waiting).toString('base64') }),
  }
  return JSON.stringify(written)
}

export function readPlace(text: string): ImportCheckpoint {
  const { last, lines, digest, clockMs, waiting } = JSON.parse(text) as Written
  return {
    last: {
      ...{ atNs: BigInt(last.atNs), version: BigInt(last.version) },
      hash: Buffer.from(last.hash, 'hex'),
    },
    imported: { lines, digest: BigInt(`0x${digest}`) },
    clockMs,
    waiting:
      waiting === undefined
        ? undefined
        : (deserialize(Buffer.from(waiting, 'base64')) as ClusterInferenceState),
  }
}

const MAX_FAULTS = 5

export interface Imported {
  /** Lines that were imported now, or could not be read. */
  readonly lines: number
  /** Lines that were imported before. */
  readonly known: number
  /** Versions and requests of objects that were passed on. */
  readonly told: number
  /** Lines that describe no write, by reason. */
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>
  /** Lines that could not be read. */
  readonly faulty: number
  /** The first faulty lines: file, line number and error. */
  readonly faults: readonly string[]
  /** Warnings for the operator. */
  readonly warnings: readonly string[]
}

class ImportCounts implements Imported {
  readonly skipped: Partial<Record<SkipReason, number>> = {}
  readonly faults: string[] = []
  readonly warnings: string[] = []
  lines = 0
  known = 0
  told = 0
  faulty = 0

  add(skipped: SkipReason | undefined): void {
    this.lines++
    if (skipped === undefined) this.told++
    else this.skipped[skipped] = (ownValue(this.skipped, skipped) ?? 0) + 1
  }

  addFault(path: string, line: number, fault: string): void {
    this.lines++
    this.faulty++
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${path}, line ${line} ${fault}`)
  }
}
