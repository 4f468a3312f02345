import { SPAN_SEEN_WRITE, SPAN_TOLD_WRITE } from '../../model/arrivals.ts'
import type { ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type { InferredWrite } from '../../model/seen-write.ts'
import type { ReportedWrite, ReportedWrites } from '../../model/reported-writes.ts'
import { NO_ACTIVITY } from './outbox.ts'
import { OnConnection } from './open-database.ts'

/** The most reports of a version that are read; further ones add nothing new. */
const MOST = 8
const NO_VERSION = -1n

interface Asked {
  readonly cluster: string
  readonly object: string
  readonly version: bigint
  readonly uid: string
}

/** Reads the spans in which programs report their own writes, and stores with them what inference observed. */
export class ReportedWriteTable extends OnConnection implements ReportedWrites {
  readonly #of = this.db.prepare<[Asked], ReportedWrite>(
    `SELECT s.id AS row, c.text AS cpid, r.service, s.name
       FROM objects o JOIN span_objects w ON w.object = o.id AND w.role = 1 AND w.version = @version
       JOIN spans s ON s.id = w.span JOIN cpids c ON c.id = s.cpid
       JOIN scopes e ON e.id = s.scope JOIN resources r ON r.id = e.resource
       WHERE o.object = @object AND o.cluster = @cluster AND (w.uid IS NULL OR w.uid = @uid)
         AND (s.flags & ${SPAN_SEEN_WRITE} = 0 OR s.flags & ${SPAN_TOLD_WRITE} <> 0)
       ORDER BY s.id DESC LIMIT ${MOST}`,
  )
  readonly #addSeen = this.db.prepare(
    `INSERT OR IGNORE INTO seen_writes (span, user_name, cause, gap, missed, audit_id, admitted_trace)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #flag = this.db.prepare(
    `UPDATE spans SET flags = flags | ${SPAN_SEEN_WRITE | SPAN_TOLD_WRITE} WHERE id = ?`,
  )
  // Linking did not count the span for its actor if it was sent before.
  readonly #addActor = this.db.prepare<[{ row: number }]>(
    `INSERT INTO trace_actors (trace, actor, writes, gaps, missed, began)
       SELECT t.id, coalesce(y.user_name, r.service), 1, y.gap, y.missed, y.cause = 'operator' AND s.cpid = t.root
       FROM seen_writes y JOIN spans s ON s.id = y.span
       JOIN scopes e ON e.id = s.scope JOIN resources r ON r.id = e.resource
       JOIN change_spans h ON h.cpid = s.cpid JOIN traces t ON t.id = h.trace
       JOIN outbox o ON o.trace = t.id AND o.span = s.id AND o.flags & ${NO_ACTIVITY} = 0
       WHERE y.span = +@row
       ON CONFLICT (trace, actor) DO UPDATE SET writes = writes + 1, gaps = gaps + excluded.gaps,
         missed = missed + excluded.missed, began = max(began, excluded.began)`,
  )
  readonly #setVersion = this.db.prepare<[Asked & { row: number }]>(
    `UPDATE OR IGNORE span_objects SET version = @version
       WHERE span = @row AND role = 1 AND version = ${NO_VERSION} AND (uid IS NULL OR uid = @uid)
         AND object = (SELECT id FROM objects WHERE object = @object AND cluster = @cluster)`,
  )

  of(cluster: string, object: ObjectIdentity, version: bigint | undefined): ReportedWrite[] {
    return this.#of.all(askedOf(cluster, object, version))
  }

  noteInferred(
    { row }: ReportedWrite,
    cluster: string,
    object: ObjectIdentity,
    version: bigint | undefined,
    { user, cause, gap, missed, auditId, admittedTrace }: InferredWrite,
  ): void {
    if (version !== undefined) this.#setVersion.run({ row, ...askedOf(cluster, object, version) })
    const isFirst =
      this.#addSeen.run(
        ...[row, user ?? null, cause, gap ? 1 : 0, missed ?? 0, auditId ?? null, admittedTrace ?? null],
      ).changes > 0
    if (!isFirst) return
    this.#flag.run(row)
    this.#addActor.run({ row })
  }
}

function askedOf(
  cluster: string,
  { apiVersion, resource, namespace, name, uid }: ObjectIdentity,
  version = NO_VERSION,
): Asked {
  const object = [apiVersion, resource, ...(namespace === '' ? [] : [namespace]), name].join('/')
  return { cluster, object, version, uid }
}
