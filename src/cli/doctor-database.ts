import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RetentionConfig } from '../config/causeway-config.ts'
import type { ExporterFacts, SenderFacts, SenderFactsReader, SetAsideFacts } from '../model/queries.ts'
import { MIB } from '../model/time-and-size.ts'
import { faultyPages, longLogBytes, openForChanges, openForQuestions } from './database-file.ts'
import { messageOf } from './command-line.ts'
import { fail, type Finding, ok, warn } from './doctor-finding.ts'
import { count, duration, printable } from './text.ts'

const FULL = 100 * MIB
const NEARLY_FULL = 1024 * MIB
const SETTING = 'connectors::cpid::storage::path'

/** Checks that the database exists, is intact, has the schema of this version, is writable, and has space on its disk. */
export async function* checkDatabase(
  path: string,
  retention: RetentionConfig,
  timeoutMs: number,
): AsyncGenerator<Finding> {
  if (!existsSync(path)) {
    yield checkFolder(path)
    return
  }
  const schema = checkSchema(path)
  yield schema
  if (schema.state === 'fail') return
  yield checkWriting(path)
  yield checkRoom(path, retention)
  yield* checkLog(path)
  yield await checkPages(path, timeoutMs)
}

function checkFolder(path: string): Finding {
  let folder = dirname(resolve(path))
  while (!existsSync(folder)) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    return ok('database', `${path} is not there yet; causeway makes it when it starts`)
  } catch {
    return fail(
      'database',
      `${path} is not there, and ${folder} is not writable`,
      `give it to the user that runs causeway, or correct ${SETTING}`,
    )
  }
}

function checkSchema(path: string): Finding {
  try {
    using database = openForQuestions(path)
    switch (database.schema) {
      case 'current':
        return ok('database', `${path}, ${sizeText(database.bytes)}, in step with this version`)
      case 'older':
        return warn('database', `${path} has an older schema`, 'run causeway migrate, or start causeway')
      case 'newer':
        return fail(
          'database',
          `${path} was written by a newer Causeway`,
          `use that version, or correct ${SETTING}`,
        )
    }
  } catch (error) {
    return fail(
      'database',
      `cannot read ${path}: ${messageOf(error)}`,
      `if it is a database of Causeway, take what is readable into a new file with causeway salvage; else correct ${SETTING}`,
    )
  }
}

function checkWriting(path: string): Finding {
  try {
    using database = openForChanges(path)
    database.checkWritable()
    return ok('writing', 'the database can be written')
  } catch (error) {
    return fail(
      'writing',
      `the database cannot be written: ${messageOf(error)}`,
      'check the owner and mode of the file and of its folder, and whether the disk is read-only or full',
    )
  }
}

function checkRoom(path: string, { maxBytes }: RetentionConfig): Finding {
  const { bavail, bsize } = statfsSync(dirname(resolve(path)))
  const free = bavail * bsize
  const advice = `free some, or lower connectors::cpid::retention::max_bytes and use another disk for ${SETTING}`
  if (free < FULL) return fail('disk', `only ${sizeText(free)} are free beside the database`, advice)
  const grows = maxBytes === 0 ? 0 : Math.max(maxBytes - statSync(path).size, 0)
  if (free < NEARLY_FULL) return warn('disk', `only ${sizeText(free)} are free beside the database`, advice)
  if (free < grows) {
    return warn(
      'disk',
      `${sizeText(free)} are free, but retention lets the database grow by ${sizeText(grows)}`,
      'lower connectors::cpid::retention::max_bytes, unless other limits keep it smaller',
    )
  }
  return ok('disk', `${sizeText(free)} are free beside the database`)
}

/** Warns of a long write-ahead log. */
function* checkLog(path: string): Generator<Finding> {
  const bytes = longLogBytes(path)
  if (bytes === undefined) return
  yield warn(
    'disk',
    `the write-ahead log is ${sizeText(bytes)} long, because a program keeps a read of the database open`,
    `end that program (fuser -v ${path} names it); a running Causeway then shortens the log by itself`,
  )
}

async function checkPages(path: string, timeoutMs: number): Promise<Finding> {
  let found: string[]
  try {
    found = await faultyPages(path, timeoutMs)
  } catch (error) {
    return warn(
      'integrity',
      `not checked: ${messageOf(error)}`,
      'raise --timeout, or run PRAGMA quick_check in the sqlite3 shell',
    )
  }
  if (found.length === 0) return ok('integrity', 'every page of the database is sound')
  return fail(
    'integrity',
    `the database is damaged: ${found.join('; ')}`,
    'stop causeway, keep a copy, and restore a backup, or take what is readable into a new file: causeway salvage',
  )
}

function sizeText(bytes: number): string {
  if (bytes >= 1024 * MIB) return `${(bytes / 1024 / MIB).toFixed(1)} GiB`
  return bytes >= MIB ? `${Math.round(bytes / MIB)} MiB` : `${Math.ceil(bytes / 1024)} KiB`
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const AHEAD_MS = 1_000
const BEHIND_MS = 60_000
/** The tolerated share of CPIDs without a mergelog: some at the edge of the examined time are normal. */
const TOLERATED = 0.05
const NAMED = 5
const INSTRUMENTATION = 'docs/instrumentation.md says what controllers send'

/**
 * Checks that data arrives, clocks are right, CPIDs have mergelogs, and nothing is refused. `isSentTo`: a receiver listens for senders, not
 * only watches a cluster.
 */
export function* checkSenders(
  facts: SenderFactsReader,
  { nowMs, waitMs, isSentTo }: { nowMs: number; waitMs: number; isSentTo: boolean },
): Generator<Finding> {
  const lastMs = facts.lastArrivalMs()
  if (lastMs === undefined) {
    yield warn(
      'arrivals',
      'nothing has arrived yet',
      isSentTo
        ? `point the senders at the OTLP ports above; ${INSTRUMENTATION}`
        : 'start Causeway, change something in the cluster, as with kubectl scale, and ask again',
    )
    return
  }
  const ago = Math.max(nowMs - lastMs, 0)
  yield ago < HOUR_MS
    ? ok('arrivals', `the last request arrived ${msText(ago)} ago`)
    : warn(
        'arrivals',
        `the last request arrived ${msText(ago)} ago`,
        isSentTo
          ? 'check that the senders run and reach the OTLP ports above'
          : 'check that Causeway runs, unless nothing changed in the cluster',
      )
  yield* checkMergelogs(facts.senders(nowMs - waitMs))
  yield* checkClocks(facts, nowMs)
  yield* checkRefusals(facts, nowMs - DAY_MS)
}

function* checkMergelogs(senders: readonly SenderFacts[]): Generator<Finding> {
  if (senders.length === 0) return
  for (const { service, malformed, spans } of senders) {
    if (malformed === 0) continue
    yield warn(
      'CPIDs',
      `${printable(service)}: the cpid.id of ${malformed} of its ${count(spans, 'newest span')} is no CPID; such spans count as without one`,
      `a CPID is a UUID that is not all zeros, as text; ${INSTRUMENTATION}`,
    )
  }
  const carrying = senders.filter(({ cpids }) => cpids > 0)
  if (carrying.length === 0) {
    yield fail(
      'CPIDs',
      `none of the newest spans carries a CPID (${namesOf(senders)})`,
      `have controllers set the attribute cpid.id; ${INSTRUMENTATION}`,
    )
    return
  }
  const without = senders.filter(({ cpids }) => cpids === 0)
  yield ok(
    'CPIDs',
    `${count(carrying.length, 'service')} of ${senders.length} carry CPIDs` +
      (without.length === 0 ? '' : `; without any: ${namesOf(without)}`),
  )
  const lacking = carrying.filter(({ cpids, missing }) => missing > cpids * TOLERATED)
  if (lacking.length === 0) yield ok('mergelogs', 'mergelogs arrive for the CPIDs seen')
  for (const { service, cpids, missing } of lacking) {
    const say = missing === cpids ? fail : warn
    yield say(
      'mergelogs',
      `${printable(service)}: the mergelogs of ${missing} of the ${count(cpids, 'CPID')} on its newest spans have not arrived`,
      'the controller that makes those CPIDs has to send a mergelog for each, to a logs pipeline or as a span event; ' +
        INSTRUMENTATION,
    )
  }
}

function* checkClocks(facts: SenderFactsReader, nowMs: number): Generator<Finding> {
  const clocks = facts.clocks(nowMs)
  const odd = clocks.filter(({ aheadMs, behindMs }) => aheadMs > AHEAD_MS || behindMs > BEHIND_MS)
  if (odd.length === 0 && clocks.length > 0) {
    yield ok('clocks', `the clocks of ${count(clocks.length, 'sender')} look right`)
  }
  for (const { service, aheadMs, behindMs } of odd) {
    yield aheadMs > AHEAD_MS
      ? warn(
          'clocks',
          `${printable(service)} sends times that are ${msText(aheadMs)} ahead of their arrival`,
          'synchronise its clock, and this one (NTP)',
        )
      : warn(
          'clocks',
          `everything from ${printable(service)} arrives at least ${msText(behindMs)} late`,
          'its clock is behind, or it sends late: synchronise it (NTP), and look at its batching',
        )
  }
}

function* checkRefusals(facts: SenderFactsReader, sinceMs: number): Generator<Finding> {
  const { items, message } = facts.rejected(sinceMs)
  if (items === 0) {
    yield ok('refusals', 'nothing was refused in the last day')
    return
  }
  const refusals = facts.refusals(sinceMs)
  for (const { service, reason, count: number } of refusals.slice(0, NAMED)) {
    yield warn(
      'refusals',
      `${count(number, 'mergelog')} of ${printable(service)} refused in the last day: ${reason}`,
      'SELECT * FROM audit_rejected_mergelogs shows each (causeway sql)',
    )
  }
  const others = items - refusals.reduce((sum, refusal) => sum + refusal.count, 0)
  if (others > 0) {
    yield warn(
      'refusals',
      `${count(others, 'other item')} refused in the last day; the last message: ${printable(message)}`,
      'SELECT * FROM audit_rejected_items shows each (causeway sql)',
    )
  }
}

function namesOf(senders: readonly SenderFacts[]): string {
  const names = senders.map(({ service }) => printable(service))
  return names.length <= NAMED
    ? names.join(', ')
    : `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`
}

function msText(ms: number): string {
  return duration(BigInt(Math.round(ms)) * 1_000_000n)
}

const CHECK = 'exporters'
const LOOK_AGAIN_MS = 2_000

/** Checks that linked data is sent. An exporter that is behind is examined twice. */
export async function* checkExporters(facts: SenderFactsReader, isRunning: boolean): AsyncGenerator<Finding> {
  const before = facts.exporters()
  const isBehind = isRunning && before.some(({ waiting }) => waiting > 0)
  if (isBehind) await sleep(LOOK_AGAIN_MS)
  const now = new Map((isBehind ? facts.exporters() : before).map((exporter) => [keyOf(exporter), exporter]))
  for (const exporter of before) yield findingOf(exporter, now.get(keyOf(exporter)) ?? exporter, isRunning)
}

const keyOf = ({ name, signal }: ExporterFacts): string => `${signal} ${name}`

const ITEMS = { traces: 'span', logs: 'log record', metrics: 'data point' } as const

function findingOf(
  { name, signal, waiting }: ExporterFacts,
  now: ExporterFacts,
  isRunning: boolean,
): Finding {
  const item = ITEMS[signal]
  const refused = now.refused === 0 ? '' : `; its backend has refused ${count(now.refused, item)} for good`
  const is = (words: string): string =>
    `${name}${signal === 'traces' ? '' : ` (${signal})`} ${words}${refused}`
  if (!isRunning) {
    return ok(
      CHECK,
      is(now.waiting === 0 ? 'has sent everything' : `has ${now.waiting} to send once causeway runs`),
    )
  }
  if (waiting > 0 && now.waiting >= waiting) {
    return warn(
      CHECK,
      is(`has ${now.waiting} to send, and the number does not fall`),
      `look at its backend, and for ${name} in Causeway's log; nothing is lost meanwhile`,
    )
  }
  const pace = now.waiting === 0 ? 'has sent everything' : `has ${now.waiting} to send, and the number falls`
  if (now.refused === 0) return ok(CHECK, is(pace))
  return warn(CHECK, is(pace), `look for ${name} in Causeway's log, which says why`)
}

const SET_ASIDE_CHECK = 'linking'

export function checkSetAside(facts: SetAsideFacts | undefined): Finding {
  if (facts === undefined) return ok(SET_ASIDE_CHECK, 'no item was set aside')
  return warn(
    SET_ASIDE_CHECK,
    `${count(facts.items, 'item')} had to be set aside; the newest at ${facts.time}: ${printable(facts.reason)}`,
    'SELECT * FROM audit_set_aside shows each (causeway sql); keep a copy of the database, check its integrity, and report it',
  )
}
