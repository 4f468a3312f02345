import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/model/time-and-size.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { sqliteStores } from '../../../src/store/sqlite/writer-stores.ts'
import { StoreWriter, type WriterSettings } from '../../../src/store/store-writer.ts'
import { logsRequest, mergelogRecord, tracesRequest, workOf } from './fresh-changes.ts'
import type { FromWriter, ToWriter } from './messages.ts'

const BETWEEN_MS = 3_600_000
const MANY = 100_000
/** Changes measured a round; they add to the history by a fraction at most. */
const MEASURED = 200
const MIN_OF_HISTORY = 25
const WARM_UP = 500

/** A clock that only goes on when told to, so that years pass in seconds. */
class TurnedClock implements Clock {
  #wallMs: number
  #upMs = 0

  constructor(wallMs: number) {
    this.#wallMs = wallMs
  }

  wallMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return this.#upMs
  }

  advance(ms: number): void {
    this.#wallMs += ms
    this.#upMs += ms
  }
}

/**
 * Objects changed once an hour each: an operator begins a change and the controller merges it with what the object
 * carries, so each CPID descends from all before it, and each cascade has settled before the next. Written by the real
 * writer.
 */
export function changeObjects(
  { path, changes, rounds }: Extract<ToWriter, { kind: 'objects' }>,
  settings: WriterSettings,
): FromWriter {
  const db = openForWriting(path)
  db.pragma('synchronous = OFF')
  const clock = new TurnedClock(Date.UTC(2020, 0, 1))
  const writer = new StoreWriter(sqliteStores(db, settings, clock), settings, clock)
  const further = Math.max(1, Math.min(MEASURED, Math.floor(changes / MIN_OF_HISTORY)))
  const play = (requests: readonly Requests[]): number => {
    const cpu = process.threadCpuUsage()
    for (const { logs, traces } of requests) {
      writer.ingest([{ signal: 'logs', bytes: logs }])
      writer.ingest([{ signal: 'traces', bytes: traces }])
      while (writer.link(MANY) > 0);
      clock.advance(BETWEEN_MS)
      while (writer.reader.isAnythingDue()) writer.linking.expire(MANY)
    }
    const { user, system } = process.threadCpuUsage(cpu)
    return (user + system) / requests.length
  }
  play(new ChangedObject('other').next(clock, WARM_UP))
  let objects: ChangedObject[] = []
  const linkCpuUs = Array.from({ length: rounds }, (_, round) => {
    if (further < MEASURED || round === 0) {
      objects = Array.from({ length: MEASURED / further }, (_, at) => new ChangedObject(`web-${round}-${at}`))
      for (const object of objects) play(object.next(clock, changes))
    }
    return play(objects.flatMap((object) => object.next(clock, further)))
  })
  db.close()
  const last = objects.at(-1) ?? new ChangedObject('none')
  return { kind: 'objects', first: last.first, newest: last.newest, object: last.name, linkCpuUs }
}

interface Requests {
  logs: Buffer
  traces: Buffer
}

class ChangedObject {
  readonly name: string
  readonly first = randomUUID()
  newest: string = this.first
  #changes = 0

  constructor(name: string) {
    this.name = `apps/v1/deployments/shop/${name}`
  }

  /** The requests of its next changes, made beforehand: only taking them is to be measured. */
  next(clock: Clock, count: number): Requests[] {
    return Array.from({ length: count }, (_, at) => this.#next(clock.wallMs() + at * BETWEEN_MS))
  }

  #next(atMs: number): Requests {
    const atNs = String(BigInt(atMs) * 1_000_000n)
    const object = this.name
    const isFirst = this.#changes++ === 0
    const root = isFirst ? this.first : randomUUID()
    const records = [mergelogRecord({ cpid: root, sources: [], atNs, object })]
    if (!isFirst) {
      const merged = randomUUID()
      records.push(mergelogRecord({ cpid: merged, sources: [root, this.newest], atNs, object }))
      this.newest = merged
    }
    const wrote = `${object}?uid=1&rv=${this.#changes}`
    return { logs: logsRequest(records), traces: tracesRequest(workOf(this.newest, atNs, wrote)) }
  }
}
