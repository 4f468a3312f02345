import { setImmediate as nextTurn } from 'node:timers/promises'
import type { CustomReference } from '../../model/kubernetes/custom-reference.ts'
import { OrderedLines } from '../../sqlite/importing/ordered-lines.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import { GrowingRecordings } from './growing-recordings.ts'
import { ImportCounts, type Imported } from './import-counts.ts'
import { LineImport } from './import-lines.ts'
import { readPlace, type ImportPlace } from './import-place.ts'
import { LivedTime } from './lived-time.ts'
import { readLine } from './read-line.ts'
import { firstLookMs, type RecordedClock } from './recorded-clock.ts'
import { Recording, type NamedRecording } from './recording.ts'
import type { LongLine } from '../../cluster/json-lines.ts'

/** Turns that are committed at once. */
const TURNS_TOGETHER = 400
/** After all lines without a time. */
const TIMELESS = { atNs: 0n, version: 2n ** 63n - 1n, hash: Buffer.alloc(0) }

export interface ImportOptions {
  /** The recordings grow: what comes is imported until it aborts, and nothing is settled because they end for now. */
  readonly follow?: AbortSignal
  /** How many turns are committed at once; as is fast unless given. */
  readonly turnsTogether?: number
}

/** Begins to write at a time of a recording, Unix milliseconds. */
export type OpenWriter = (startMs: number) => { writer: StoreWriter; clock: RecordedClock }

export interface RecordingsOfCluster {
  readonly cluster: string
  readonly recordings: readonly NamedRecording[]
  /** What has to be read of custom resources beside what all objects have. */
  readonly references: readonly CustomReference[]
  readonly openWriter: OpenWriter
  /** Where the last import of the cluster stands, as it was written down. */
  readonly stored: string | undefined
}

/**
 * Stores what a Causeway would have stored that had been there when recordings of a cluster were made. What comes of it depends on
 * the lines of all recordings together, not on the files that they stand in, nor on how often an import was interrupted. Rejects with
 * what to do when a recording cannot be read.
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
    const read = readLine(source, line, of.references)
    if (read === undefined) return 0n
    if ('fault' in read) {
      counts.addFault(path, number, read.fault)
      return 0n
    }
    const isNew = lines.add(begun?.notBeforeTold(read.line) ?? read.line, read.isTimed)
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
      for await (const some of recording.lines()) for (const line of some) add(recording, line, ++number)
    }
    await work()
    begun?.end()
  } else {
    await using growing = new GrowingRecordings(recordings, follow, add)
    await growing.firstEnd()
    while (!growing.isOver) {
      await work(growing.toldToMs)
      await growing.more()
    }
  }
  return counts
}

/** Goes on where the last import of the cluster stands; undefined while there is nothing to do. */
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
  const startMs = isUnfinished ? before.clockMs : first && firstLookMs(first.atNs)
  counts.known += place?.told.lines ?? 0
  if (startMs === undefined || (startMs > untilMs && !isUnfinished)) return undefined
  if (before !== undefined) warn(before, place !== undefined, counts)
  const { writer, clock } = openWriter(startMs)
  writer.inference.readStored()
  if (before?.waiting !== undefined) writer.inference.goOnFrom(cluster, before.waiting)
  return new LineImport({ cluster, writer, time: new LivedTime(writer, clock), lines, counts }, place)
}

/** Where the import stood, unless other lines had been told by then than those that are at hand. */
function placeAmong(lines: OrderedLines, before: ImportPlace): ImportPlace | undefined {
  const there = lines.upTo(before.last)
  const areSame = there.lines === before.told.lines && there.digest === before.told.digest
  return areSame ? before : undefined
}

function warn({ waiting, clockMs }: ImportPlace, areSame: boolean, { warnings }: ImportCounts): void {
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
