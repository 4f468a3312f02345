import type {
  ChangeReporter,
  ChangeSpan,
  ChangeSpans,
  Mergelogs,
  ReleasedStep,
  StoredMergelog,
  UnfinishedSteps,
  Waiting,
  WaitingItems,
} from '../../../src/model/linking-ports.ts'
import type { Signal } from '../../../src/model/otlp-requests.ts'
import type { PositionStore } from '../../../src/model/store-ports.ts'
import type { MemoryTables } from './memory-tables.ts'

export class MemoryPositions implements PositionStore {
  readonly #tables: MemoryTables
  readonly #signal: Signal

  constructor(tables: MemoryTables, signal: Signal) {
    this.#tables = tables
    this.#signal = signal
  }

  keep(names: readonly string[], end: number): Map<string, number> {
    const known = this.all()
    for (const name of known.keys())
      if (!names.includes(name)) this.#tables.positions.delete(this.#keyOf(name))
    for (const name of names) if (!known.has(name)) this.#tables.positions.set(this.#keyOf(name), end)
    return this.all()
  }

  moveTo(name: string, position: number): void {
    const key = this.#keyOf(name)
    if (this.#tables.positions.has(key)) this.#tables.positions.set(key, position)
  }

  all(): Map<string, number> {
    const own = [...this.#tables.positions].filter(([key]) => key.startsWith(this.#keyOf('')))
    return new Map(own.map(([key, position]) => [key.slice(this.#keyOf('').length), position]))
  }

  #keyOf(name: string): string {
    return `${this.#signal} ${name}`
  }
}

export class MemoryMergelogs implements Mergelogs {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  find(cpid: number): StoredMergelog | undefined {
    return this.#tables.mergelogs.get(cpid)
  }

  reporterOf(cpid: number): ChangeReporter | undefined {
    return this.#tables.tellers.get(cpid)
  }
}

export class MemoryWaiting implements WaitingItems {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  add(waiting: Waiting, dueMs: number): void {
    if (this.#tables.waiting.has(waiting.arrival)) throw new Error('it waits already')
    this.#tables.waiting.set(waiting.arrival, [{ ...waiting }, dueMs])
  }

  hasSpan(row: number): boolean {
    const [waiting] = this.#tables.waiting.get(row) ?? []
    return waiting !== undefined && waiting.kind !== 'change'
  }

  untilOf(arrival: number): number | undefined {
    return this.#tables.waiting.get(arrival)?.[1]
  }

  isBehind(row: number): boolean {
    return this.#tables.waiting.get(row)?.[0].behindUntilMs !== undefined
  }

  remove(arrival: number): boolean {
    return this.#tables.waiting.delete(arrival)
  }

  changeOf(cpid: number): Waiting | undefined {
    return this.forCpid(cpid).find(({ kind }) => kind === 'change')
  }

  forCpid(cpid: number): Waiting[] {
    return this.#inOrder().filter((waiting) => waiting.cpid === cpid)
  }

  forParent(origin: number, parentId: bigint): Waiting[] {
    return this.#inOrder().filter((waiting) => waiting.origin === origin && waiting.parentId === parentId)
  }

  changesReportedBy(spanId: bigint): Waiting[] {
    return this.#inOrder().filter(({ kind, parentId }) => kind === 'change' && parentId === spanId)
  }

  due(limit: number): Waiting[] {
    return [...this.#tables.waiting.values()]
      .filter(([, dueMs]) => dueMs <= this.#tables.activeMs)
      .sort(([a, dueA], [b, dueB]) => dueA - dueB || a.arrival - b.arrival)
      .slice(0, limit)
      .map(([waiting]) => waiting)
  }

  #inOrder(): Waiting[] {
    return [...this.#tables.waiting.values()]
      .map(([waiting]) => waiting)
      .sort((a, b) => a.arrival - b.arrival)
  }
}

export class MemoryUnfinished implements UnfinishedSteps {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  get areAny(): boolean {
    return this.#tables.steps.size > 0
  }

  add(steps: readonly ReleasedStep[]): void {
    for (const step of steps) this.#tables.steps.set(++this.#tables.lastStep, step)
  }

  addFirst(steps: readonly ReleasedStep[]): void {
    const others = [...this.#tables.steps.values()]
    this.#tables.steps.clear()
    this.add([...steps, ...others])
  }

  take(): ReleasedStep | undefined {
    const [first] = this.#tables.steps
    if (first === undefined) return undefined
    const [id, step] = first
    this.#tables.steps.delete(id)
    if (step.kind !== 'waited') return step
    const [waiting] = this.#tables.waiting.get(step.waiting.arrival) ?? []
    return waiting && { kind: 'waited', waiting }
  }
}

export class MemoryChanges implements ChangeSpans {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  find(cpid: number, trace: number): ChangeSpan | undefined {
    return this.#tables.changes.get(`${cpid} ${trace}`)?.[1]
  }

  newest(cpid: number, most: number): ChangeSpan[] {
    const own = [...this.#tables.changes.values()].flatMap(([of, change]) => (of === cpid ? [change] : []))
    return own.sort((a, b) => b.trace - a.trace).slice(0, most)
  }

  cpidsIn(trace: number): number[] {
    return [...this.#tables.changes.values()]
      .filter(([, change]) => change.trace === trace)
      .sort(([a, one], [b, other]) => one.depth - other.depth || a - b)
      .map(([cpid]) => cpid)
  }

  add(cpid: number, change: ChangeSpan): void {
    const key = `${cpid} ${change.trace}`
    if (this.#tables.changes.has(key)) throw new Error('the CPID has a change span in the trace already')
    this.#tables.changes.set(key, [cpid, { ...change }])
  }

  noteDriven(cpid: number, change: ChangeSpan): void {
    this.#tables.changes.set(`${cpid} ${change.trace}`, [cpid, { ...change, driven: true }])
  }
}
