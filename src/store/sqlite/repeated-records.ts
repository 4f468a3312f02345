import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { MessageName } from '../../model/otlp/message-schema.ts'
import { canonicalContent } from '../../model/otlp/same-content.ts'
import { GenerationCache } from './generation-cache.ts'
import type { Sqlite } from './open-database.ts'

/** How many spans with equal ids, or log records with equal time and digest, a record is compared with. */
const COMPARED_SPANS = 64
const COMPARED_LOGS = 16
/** A record of this many bytes or more is compared with only a few, since each comparison reads all bytes of both. */
const FEW_FROM_BYTES = 1024
const FEW = 4
const CONTENTS = 5_000

const LINKED = '(SELECT linked_arrival FROM progress WHERE only = 1)'

/** An SQL expression for the content of a record with its resource and scope; NULL if it is too large. */
const content = (of: 'span' | 'log', it: string): string =>
  `${of}_content(${it}.id, ${it}.raw, (SELECT p.envelope FROM scopes p WHERE p.id = ${it}.scope),
     (SELECT r.envelope FROM scopes p JOIN resources r ON r.id = p.resource WHERE p.id = ${it}.scope))`

const isSame = (of: 'span' | 'log', columns: readonly string[], one: string, other: string): string =>
  [
    ...columns.map((column) => `${one}.${column} = ${other}.${column}`),
    `(${one}.scope = ${other}.scope AND ${one}.raw = ${other}.raw OR ${content(of, one)} = ${content(of, other)})`,
  ].join(' AND ')

/** `exists` is given the number of records with which `it` is compared. */
const asManyAsAffordable = (it: string, most: number, exists: (compared: number) => string): string =>
  `CASE WHEN length(${it}.raw) > ${FEW_FROM_BYTES} THEN ${exists(FEW)} ELSE ${exists(most)} END`

const WITH_ITS_IDS = 'FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id'
const SPAN_COLUMNS = ['kind', 'start_ns', 'end_ns', 'parent_id', 'status', 'name']

const isAmongSpans = (compared: number): string =>
  `EXISTS (SELECT 1 FROM (SELECT f.id ${WITH_ITS_IDS} LIMIT ${compared}) same_ids CROSS JOIN spans e ON e.id = same_ids.id
   WHERE ${isSame('span', SPAN_COLUMNS, 'e', 's')})`

const isAmongLogs = (compared: number): string =>
  `EXISTS (SELECT 1 FROM
   (SELECT f.id FROM logs f WHERE f.time_ns = l.time_ns AND f.digest = l.digest AND f.id < l.id LIMIT ${compared}) c
   CROSS JOIN logs e ON e.id = c.id WHERE ${isSame('log', ['severity', 'span_id', 'event_name'], 'e', 'l')})`

/**
 * 1 if an equal span was stored before: with the same ids, content, resource and scope, in any encoding. Different spans may share ids, as
 * client and server in Zipkin do. Few do, so that is checked first.
 */
export const SPAN_IS_REPEAT = `CASE WHEN EXISTS (SELECT 1 ${WITH_ITS_IDS}) THEN
  ${asManyAsAffordable('s', COMPARED_SPANS, isAmongSpans)} ELSE 0 END`

/** Whether an equal log record was stored before `l`: with the same content, resource and scope, in any encoding. */
export const LOG_IS_REPEAT = `l.digest IS NOT NULL AND ${asManyAsAffordable('l', COMPARED_LOGS, isAmongLogs)}`

/** Linking removes repetitions. Until then queries leave them out. */
export const SPAN_IS_NO_REPEAT = `(s.id <= ${LINKED} OR NOT ${SPAN_IS_REPEAT})`
export const LOG_IS_NO_REPEAT = `(l.id <= ${LINKED} OR NOT (${LOG_IS_REPEAT}))`

const withFunctions = new WeakSet<Sqlite>()

/** Registers the SQL functions that these conditions call, unless the connection has them. */
export function addContentSqlFunctions(db: Sqlite): void {
  if (withFunctions.has(db)) return
  withFunctions.add(db)
  addContent(db, 'span_content', ['Span', 'ScopeSpans', 'ResourceSpans'])
  addContent(db, 'log_content', ['LogRecord', 'ScopeLogs', 'ResourceLogs'])
}

function addContent(
  db: Sqlite,
  name: string,
  [of, ofScope, ofResource]: readonly [MessageName, MessageName, MessageName],
): void {
  // A cache, since each record is compared several times.
  const known = new GenerationCache<number, { crc: number; digest: Buffer }>(CONTENTS)
  const digestOf = (
    id: number,
    raw: Buffer,
    scope: Buffer | null,
    resource: Buffer | null,
  ): Buffer | null => {
    const crc = crc32(raw)
    const before = known.get(id)
    if (before?.crc === crc) return before.digest
    const texts = [
      canonicalContent(of, raw),
      scope && canonicalContent(ofScope, scope),
      resource && canonicalContent(ofResource, resource),
    ]
    if (texts.some((text) => typeof text !== 'string')) return null
    const digest = hash('sha256', texts.join('\n'), 'buffer')
    known.set(id, { crc, digest })
    return digest
  }
  db.function(name, { deterministic: true, safeIntegers: false }, digestOf)
}
