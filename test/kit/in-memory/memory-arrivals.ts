import type {
  ArrivalStore,
  MergelogArrival,
  MergelogRecord,
  RecordOrigin,
  RequestAnswer,
  ServiceInCluster,
} from '../../../src/model/arrivals.ts'
import type { Cpid, Mergelog } from '../../../src/model/merge-graph.ts'
import { nanosOfMs, type UnixNanos } from '../../../src/model/time-and-size.ts'
import type { MemoryTables } from './memory-tables.ts'

/** Arrivals in maps. Of spans and log records it only counts that they came: no port that it has reads them. */
export class MemoryArrivals implements ArrivalStore {
  readonly #tables: MemoryTables

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  get wallMs(): number {
    return this.#tables.wallMs
  }

  answerTo(hash: Buffer): RequestAnswer | undefined {
    return this.#tables.requests.get(hash.toString('hex'))
  }

  addRequest(hash: Buffer, answer: RequestAnswer): void {
    this.#tables.requests.set(hash.toString('hex'), { ...answer })
  }

  scope(
    resource: { envelope: Buffer; service: string; cluster: string | undefined },
    envelope: Buffer,
  ): number {
    const key = `${resource.envelope.toString('hex')} ${envelope.toString('hex')}`
    const known = this.#tables.scopes.get(key)
    if (known !== undefined) return known.id
    const id = this.#tables.scopes.size + 1
    this.#tables.scopes.set(key, { id, service: resource.service, cluster: resource.cluster ?? '' })
    return id
  }

  addSpan(): void {
    this.#tables.lastArrival++
  }

  addLog(): void {
    this.#tables.lastArrival++
  }

  addMergelog(
    cpid: number,
    arrival: number,
    { sources }: Mergelog,
    { object, reason }: MergelogRecord,
    timeNs: UnixNanos,
    { scope }: RecordOrigin,
    { reportingSpan: told, replaces, isWorkedOut = false }: MergelogArrival,
  ): void {
    const { wallMs, activeMs, mergelogs, tellers, cpids, scopes } = this.#tables
    const owner = [...scopes.values()].find(({ id }) => id === scope)
    const cluster = owner?.cluster === '' ? undefined : owner?.cluster
    const said = {
      arrival,
      timeNs,
      arrivedMs: wallMs,
      sources: [...sources],
      scope,
      object,
      reason,
      cluster,
      replaces,
      isWorkedOut,
    }
    mergelogs.set(cpid, said)
    if (told !== undefined && told.traceKey !== '' && told.spanId !== 0n) {
      const traceId = Buffer.from(told.traceKey, 'latin1')
      tellers.set(cpid, { traceId, spanId: told.spanId, sinceMs: activeMs })
    }
    const arrivalNs = nanosOfMs(wallMs)
    const row = cpids.get(cpid)
    if (row !== undefined) cpids.set(cpid, { ...row, pruneNs: timeNs > arrivalNs ? arrivalNs : timeNs })
  }

  isWorkedOut(cpid: number): boolean {
    return this.#tables.mergelogs.get(cpid)?.isWorkedOut === true
  }

  narrowWorkedOut(cpid: number, arrival: number, sources: readonly Cpid[]): void {
    const said = this.#tables.mergelogs.get(cpid)
    if (said !== undefined)
      this.#tables.mergelogs.set(cpid, { ...said, arrival, sources: [...sources], replaces: true })
  }

  contestMergelog(cpid: number): boolean {
    if (this.ownerOf(cpid) === undefined) return false
    const isRefused = !this.isWorkedOut(cpid)
    this.#forget(cpid)
    return isRefused
  }

  #forget(cpid: number): void {
    this.#tables.mergelogs.delete(cpid)
    this.#tables.tellers.delete(cpid)
  }

  addRejectedMergelog(): void {
    // Only auditors read them.
  }

  ownerOf(cpid: number): ServiceInCluster | undefined {
    const stored = this.#tables.mergelogs.get(cpid)
    const scope = [...this.#tables.scopes.values()].find(({ id }) => id === stored?.scope)
    return scope && { service: scope.service, cluster: scope.cluster }
  }

  endRequests(): void {
    // Nothing is put off.
  }
}
