import { hash } from 'node:crypto'
import type { ArchivedSpan, InTrace } from '../../model/archive.ts'
import { SPAN_OBSERVED, SPAN_WROTE } from '../../model/arrivals.ts'
import { type Cpid, cpidOfBytes } from '../../model/merge-graph.ts'
import { OnConnection } from './open-database.ts'

/** The sender, and the hashes of the envelopes. */
interface Scope {
  readonly service: string | null
  readonly cluster: string | null
  readonly hashes: Buffer
}

const SPAN = `SELECT s.id, s.cpid, s.origin, s.scope, s.span_id, s.parent_id, s.name, s.start_ns, s.end_ns, s.kind, s.status, s.flags, s.raw,
  y.user_name, y.cause, y.gap FROM spans s LEFT JOIN seen_writes y ON y.span = s.id`

type SpanRow = [
  ...[id: bigint, cpid: bigint | null, origin: bigint, scope: bigint],
  ...[spanId: bigint, parentId: bigint, name: string, startNs: bigint, endNs: bigint],
  ...[kind: bigint, status: bigint, flags: bigint, raw: Buffer],
  ...[user: string | null, cause: string | null, gap: bigint | null],
]

const UNKNOWN: Scope = { service: null, cluster: null, hashes: Buffer.alloc(0) }

/**
 * Reads spans for an archive, and what several rows share. Caches each until the end of the transaction; `begin` starts anew. Most spans
 * are read twice: as they arrived, and where they were sent.
 */
export class ArchivedSpans extends OnConnection {
  readonly #after = this.exactRows<[number, number], SpanRow>(
    `${SPAN} WHERE s.id > ? AND s.id <= ? ORDER BY s.id`,
  ).raw()
  // +? keeps SQLite from scanning seen_writes.
  readonly #one = this.exactRows<[number], SpanRow>(`${SPAN} WHERE s.id = +?`).raw()
  readonly #scope = this.db
    .prepare<[number], [string | null, string | null, Buffer | null, Buffer | null]>(
      `SELECT r.service, r.cluster, r.hash, p.hash FROM scopes p LEFT JOIN resources r ON r.id = p.resource WHERE p.id = +?`,
    )
    .raw()
  readonly #cpid = this.column<[number], Buffer>('SELECT uuid FROM cpids WHERE id = ?')
  readonly #origin = this.column<[number], Buffer>('SELECT trace_id FROM origin_traces WHERE id = ?')
  readonly #trace = this.exactRows<[number], [Buffer, bigint, Buffer, bigint, string | null]>(
    `SELECT a.uuid, t.episode, t.trace_id, t.first_ns, r.cluster FROM traces t CROSS JOIN cpids a ON a.id = t.root
       LEFT JOIN mergelogs m ON m.cpid = a.id LEFT JOIN scopes p ON p.id = m.scope LEFT JOIN resources r ON r.id = p.resource
       WHERE t.id = +?`,
  ).raw()
  #spans = new Map<number, ArchivedSpan>()
  #scopes = new Map<number, Scope>()
  #cpids = new Map<number, Cpid | null>()
  #origins = new Map<number, string | undefined>()
  #traces = new Map<number, InTrace | undefined>()

  /** Empties the cache for a new transaction. */
  begin(): void {
    this.#spans = new Map()
    this.#scopes = new Map()
    this.#cpids = new Map()
    this.#origins = new Map()
    this.#traces = new Map()
  }

  /** The spans in a range of arrivals, in order. */
  *after(arrival: number, upTo: number): Generator<ArchivedSpan> {
    for (const row of this.#after.iterate(arrival, upTo)) {
      const span = this.#spans.get(Number(row[0])) ?? this.#spanOf(row)
      if (span !== undefined) yield span
    }
  }

  /** Undefined if it was pruned. */
  span(id: number): ArchivedSpan | undefined {
    const known = this.#spans.get(id)
    if (known !== undefined) return known
    const row = this.#one.get(id)
    return row && this.#spanOf(row)
  }

  trace(id: number): InTrace | undefined {
    return remembered(this.#traces, id, () => {
      const row = this.#trace.get(id)
      if (row === undefined) return undefined
      const [root, episode, traceId, firstNs, rootCluster] = row
      return {
        ...{ root: cpidOfBytes(root), episode: Number(episode), inTrace: traceId.toString('hex') },
        ...{ firstNs, rootCluster },
      }
    })
  }

  scope(id: number): Scope {
    return remembered(this.#scopes, id, () => {
      const row = this.#scope.get(id)
      if (row === undefined) return UNKNOWN
      const [service, cluster, ...hashes] = row
      return { service, cluster, hashes: Buffer.concat(hashes.filter((part) => part !== null)) }
    })
  }

  #spanOf(row: SpanRow): ArchivedSpan | undefined {
    const [id, cpid, origin, scope, spanId, parentId, name, startNs, endNs, kind, status, flags, raw] = row
    const traceId = remembered(this.#origins, Number(origin), () =>
      this.#origin.get(Number(origin))?.toString('hex'),
    )
    if (traceId === undefined) return undefined
    const arrival = Number(id)
    const { service, cluster, hashes } = this.scope(Number(scope))
    const gap = row[15]
    const span: ArchivedSpan = {
      arrival,
      scope: Number(scope),
      cpid: cpid === null ? null : this.#cpidOf(Number(cpid)),
      traceId,
      spanId: BigInt.asUintN(64, spanId),
      parentId: BigInt.asUintN(64, parentId),
      name,
      startNs,
      endNs,
      kind: Number(kind),
      status: Number(status),
      actor: row[13] ?? service,
      cause: row[14],
      gap: gap === null ? null : gap !== 0n,
      namesObjects: (Number(flags) & (SPAN_OBSERVED | SPAN_WROTE)) !== 0,
      digest: digestOf(hashes, raw),
      raw,
      service,
      cluster,
    }
    this.#spans.set(arrival, span)
    return span
  }

  #cpidOf(id: number): Cpid | null {
    return remembered(this.#cpids, id, () => {
      const uuid = this.#cpid.get(id)
      return uuid === undefined ? null : cpidOfBytes(uuid)
    })
  }
}

/** The digest of an item, over its bytes and the hashes of its envelopes: the same wherever it is computed. */
export function digestOf(hashes: Buffer, raw: Buffer): bigint {
  return hash('sha256', Buffer.concat([hashes, raw]), 'buffer').readBigUInt64BE()
}

function remembered<Value>(known: Map<number, Value>, id: number, read: () => Value): Value {
  const found = known.get(id)
  if (found !== undefined || known.has(id)) return found as Value
  const value = read()
  known.set(id, value)
  return value
}
