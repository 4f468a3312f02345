import type { SenderFacts, SenderFactsReader } from '../../model/ports/setup-port.ts'
import { count, duration, plain } from '../text/show.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const AHEAD_MS = 1_000
const BEHIND_MS = 60_000
/** A few CPIDs at the edge of what was looked at do no harm. */
const TOLERATED = 0.05
const NAMED = 5
const INSTRUMENTATION = 'docs/instrumentation.md says what controllers send'

/**
 * Whether senders reach Causeway, with clocks that agree, mergelogs for their CPIDs, and nothing refused. `isSentTo` says that receivers
 * listen; others go and look.
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
      `${plain(service)}: the mergelogs of ${missing} of the ${count(cpids, 'CPID')} on its newest spans have not arrived`,
      'whoever makes those CPIDs has to send a mergelog for each, to a logs pipeline or as span events; ' +
        INSTRUMENTATION,
    )
  }
}

function* checkClocks(facts: SenderFactsReader, nowMs: number): Generator<Finding> {
  const clocks = facts.clocks(nowMs)
  const odd = clocks.filter(({ aheadMs, behindMs }) => aheadMs > AHEAD_MS || behindMs > BEHIND_MS)
  if (odd.length === 0 && clocks.length > 0) {
    yield ok('clocks', `no clock of ${count(clocks.length, 'sender')} is seen to be wrong`)
  }
  for (const { service, aheadMs, behindMs } of odd) {
    yield aheadMs > AHEAD_MS
      ? warn(
          'clocks',
          `${plain(service)} sends times that are ${msText(aheadMs)} ahead of their arrival`,
          'synchronise its clock, and this one (NTP)',
        )
      : warn(
          'clocks',
          `everything from ${plain(service)} arrives ${msText(behindMs)} late or later`,
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
      `${count(number, 'mergelog')} of ${plain(service)} refused in the last day: ${reason}`,
      'SELECT * FROM audit_rejected_mergelogs shows each (causeway sql)',
    )
  }
  const others = items - refusals.reduce((sum, refusal) => sum + refusal.count, 0)
  if (others > 0) {
    yield warn(
      'refusals',
      `${count(others, 'other item')} refused in the last day; the last message: ${plain(message)}`,
      'SELECT * FROM audit_rejected_items shows each (causeway sql)',
    )
  }
}

function namesOf(senders: readonly SenderFacts[]): string {
  const names = senders.map(({ service }) => plain(service))
  return names.length <= NAMED
    ? names.join(', ')
    : `${names.slice(0, NAMED).join(', ')} and ${names.length - NAMED} more`
}

function msText(ms: number): string {
  return duration(BigInt(Math.round(ms)) * 1_000_000n)
}
