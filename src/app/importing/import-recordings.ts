import type { UnixNanos } from '../../model/clock.ts'
import type { CustomReference } from '../../model/kubernetes/custom-reference.ts'
import { bytesOfTold } from '../../model/kubernetes/telling-bytes.ts'
import type { PendingTelling } from '../../store/inference/inference-rounds.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import { ImportCounts, type Imported } from './import-counts.ts'
import { LivedTime } from './lived-time.ts'
import type { RecordedClock } from './recorded-clock.ts'
import { Recording, type Place } from './recording.ts'
import { toldInOrder, type BegunRecording, type RecordedSource, type ToldLine } from './told-in-order.ts'

/** Told together: what came within that time, and no more than so much. */
const TOGETHER_NS = 50_000_000n
const MOST_TOGETHER = 500

export interface NamedRecording {
  readonly source: RecordedSource
  readonly path: string
}

/** Begins to write at the time of a recording. */
export type OpenWriter = (startNs: UnixNanos) => { writer: StoreWriter; clock: RecordedClock }

interface Begun extends BegunRecording {
  /** By which its place is kept. */
  readonly stream: string
}

/**
 * Stores what a Causeway would have stored that had been there when recordings of a cluster were made. What was imported before is
 * passed over; an import that was interrupted goes on where it was. Rejects with what to do when a recording cannot be read.
 */
export async function importRecordings(
  cluster: string,
  named: readonly NamedRecording[],
  openWriter: OpenWriter,
  references: readonly CustomReference[],
): Promise<Imported> {
  const opened = await Promise.all(
    named.map(async ({ source, path }) => ({ source, recording: await Recording.open(path), after: 0 })),
  )
  const { writer, clock } = openWriter(await startOf(opened, references))
  const time = new LivedTime(writer, clock)
  const begun = await Promise.all(opened.map((one) => begin(cluster, one, writer)))
  const counts = new ImportCounts(begun.reduce((sum, { after }) => sum + after, 0))
  let some: ToldLine[] = []
  const tell = (): void => {
    const tellings = begun.flatMap((one) => tellingOf(cluster, one, some) ?? [])
    if (tellings.length > 0) time.tell(tellings)
    some = []
  }
  for await (const line of toldInOrder(begun, references)) {
    const [first = line] = some
    if (line.atNs - first.atNs > TOGETHER_NS || some.length >= MOST_TOGETHER) tell()
    time.goTo(line.atNs)
    counts.add(line)
    some.push(line)
  }
  tell()
  time.end()
  return counts
}

/** The time of the first line that has one. */
async function startOf(
  recordings: readonly BegunRecording[],
  references: readonly CustomReference[],
): Promise<UnixNanos> {
  for await (const { atNs } of toldInOrder(recordings, references)) if (atNs > 0n) return atNs
  return 0n
}

async function begin(cluster: string, one: BegunRecording, { inference }: StoreWriter): Promise<Begun> {
  const stream = `import ${one.source} ${await one.recording.firstLine()}`
  const stored = inference.position(cluster, stream)
  const place = stored === undefined ? undefined : (JSON.parse(stored) as Place)
  const isKnown = place !== undefined && (await one.recording.hasTo(place))
  return { ...one, stream, after: isKnown ? place.lines : 0 }
}

/** What one recording told of some lines; undefined where none is of it. */
function tellingOf(
  cluster: string,
  { recording, stream }: Begun,
  lines: readonly ToldLine[],
): PendingTelling | undefined {
  const own = lines.filter(({ path }) => path === recording.path)
  const last = own.at(-1)
  if (last === undefined) return undefined
  const told = own.flatMap((line) => (typeof line.told === 'string' || 'fault' in line.told ? [] : line.told))
  return { cluster, stream, position: JSON.stringify(last.place), body: bytesOfTold(told) }
}
