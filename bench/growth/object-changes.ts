import { randomUUID } from 'node:crypto'
import { StoreWriter, type WriterSettings } from '../../src/app/store-writer.ts'
import type { Clock } from '../../src/model/clock.ts'
import { openForWriting } from '../../src/sqlite/open-database.ts'
import { percentile } from '../figures.ts'
import { logsRequest, mergelogRecord, tracesRequest, workOf } from './fresh-changes.ts'
import type { FromWriter, ToWriter } from './messages.ts'

const BETWEEN_MS = 3_600_000
const MANY = 100_000
/** Changes measured a round; each adds to the history by a fraction at most. */
const MEASURED = 200
const LEAST_OF_HISTORY = 25
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
  const writer = new StoreWriter(db, settings, clock)
  const further = Math.max(1, Math.min(MEASURED, Math.floor(changes / LEAST_OF_HISTORY)))
  new ChangedObject('other').change(writer, clock, WARM_UP)
  let last = new ChangedObject('web')
  const linkCpuUs = Array.from({ length: rounds }, (_, round) => {
    const costs: number[] = []
    for (let object = 0; object < MEASURED / further; object++) {
      if (object > 0 || further < MEASURED) last = new ChangedObject(`web-${round}-${object}`)
      const before = Math.max(0, changes - last.changes)
      last.change(writer, clock, before)
      costs.push(...last.change(writer, clock, further))
    }
    return percentile(
      costs.sort((a, b) => a - b),
      0.5,
    )
  })
  db.close()
  return { kind: 'objects', first: last.first, newest: last.newest, object: last.name, linkCpuUs }
}

class ChangedObject {
  readonly name: string
  readonly first = randomUUID()
  newest: string = this.first
  changes = 0

  constructor(name: string) {
    this.name = `apps/v1/deployments/shop/${name}`
  }

  /** Microseconds of processor time of each of the next `count` changes. */
  change(writer: StoreWriter, clock: TurnedClock, count: number): number[] {
    return Array.from({ length: count }, () => {
      const { logs, traces } = this.#next(clock)
      const cpu = process.threadCpuUsage()
      writer.ingest([{ signal: 'logs', bytes: logs }])
      writer.ingest([{ signal: 'traces', bytes: traces }])
      while (writer.link(MANY) > 0);
      const { user, system } = process.threadCpuUsage(cpu)
      clock.advance(BETWEEN_MS)
      while (writer.isAnythingDue()) writer.expire(MANY)
      return user + system
    })
  }

  #next(clock: Clock): { logs: Buffer; traces: Buffer } {
    const atNs = String(BigInt(clock.wallMs()) * 1_000_000n)
    const object = this.name
    const isFirst = this.changes++ === 0
    const root = isFirst ? this.first : randomUUID()
    const records = [mergelogRecord({ cpid: root, sources: [], atNs, object })]
    if (!isFirst) {
      const merged = randomUUID()
      records.push(mergelogRecord({ cpid: merged, sources: [root, this.newest], atNs, object }))
      this.newest = merged
    }
    const wrote = `${object}?uid=1&rv=${this.changes}`
    return { logs: logsRequest(records), traces: tracesRequest(workOf(this.newest, atNs, wrote)) }
  }
}
