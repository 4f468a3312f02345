import type { Statement } from 'better-sqlite3'
import { CPID_ID } from '../../model/attributes.ts'
import { cpidOfBytes, parseCpid, type Cpid } from '../../model/cpid.ts'
import { SENT_COPY, SENT_SYNTHETIC } from '../../model/link-port.ts'
import type { LinkedSpan } from '../../model/query-port.ts'
import { jsonOfProtobuf, type Json } from '../../otlp/protobuf-to-json.ts'
import type { Sqlite } from '../open-database.ts'
import { ServiceNames } from '../service-names.ts'

interface SentRow {
  parent_id: bigint
  flags: bigint
  own_scope: bigint | null
  extra: Buffer | null
  cause: bigint | null
  id: bigint | null
  span_id: bigint
  start_ns: bigint
  end_ns: bigint
  scope: bigint
  name: string
  kind: bigint
  status: bigint
  uuid: Buffer | null
}

/** Reads the spans of a trace as they were sent: what was decided about each, with the span it is about. */
export class LinkedSpans {
  readonly #services: ServiceNames
  readonly #ofTrace: Statement<[number], SentRow>

  constructor(db: Sqlite) {
    this.#services = new ServiceNames(db)
    this.#ofTrace = db
      .prepare<[number], SentRow>(
        `SELECT o.parent_id, o.flags, o.scope AS own_scope, CASE WHEN o.flags & ${SENT_SYNTHETIC} THEN o.extra END AS extra,
           o.cause,           s.id, s.span_id, s.start_ns, s.end_ns, s.scope, s.name, s.kind, s.status, c.uuid
         FROM outbox o LEFT JOIN spans s ON s.id = o.span LEFT JOIN cpids c ON c.id = s.cpid
         WHERE o.trace = ? ORDER BY o.decision`,
      )
      .safeIntegers()
  }

  of(trace: number): LinkedSpan[] {
    return this.#ofTrace.all(trace).flatMap((row) => {
      if (row.extra !== null) return this.#synthetic(row, row.extra)
      return row.id === null ? [] : this.#received(row, row.id)
    })
  }

  #received(row: SentRow, id: bigint): LinkedSpan {
    return {
      spanId: row.span_id,
      parentId: row.parent_id,
      name: row.name,
      service: this.#services.of(Number(row.scope)),
      startNs: row.start_ns,
      endNs: row.end_ns,
      cpid: row.uuid === null ? undefined : cpidOfBytes(row.uuid),
      kind: Number(row.kind),
      status: Number(row.status),
      row: Number(id),
      copy: (Number(row.flags) & SENT_COPY) !== 0,
      byCause: row.cause !== null,
    }
  }

  #synthetic(row: SentRow, bytes: Buffer): LinkedSpan {
    const span = jsonOfProtobuf('Span', bytes)
    return {
      spanId: Buffer.from(textOf(span['spanId']), 'hex').readBigInt64BE(0),
      parentId: row.parent_id,
      name: textOf(span['name']),
      service: this.#services.of(Number(row.own_scope ?? 0n)),
      startNs: BigInt(textOf(span['startTimeUnixNano'])),
      endNs: BigInt(textOf(span['endTimeUnixNano'])),
      cpid: cpidAmong(span['attributes']),
      kind: Number(span['kind'] ?? 0),
      status: 0,
      row: undefined,
      copy: false,
      byCause: false,
    }
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function cpidAmong(attributes: Json | undefined): Cpid | undefined {
  for (const attribute of Array.isArray(attributes) ? attributes : []) {
    if (typeof attribute !== 'object' || Array.isArray(attribute) || attribute['key'] !== CPID_ID) continue
    const { value } = attribute
    if (typeof value === 'object' && !Array.isArray(value)) return parseCpid(textOf(value['stringValue']))
  }
  return undefined
}
