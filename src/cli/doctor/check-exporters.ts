import { setTimeout as sleep } from 'node:timers/promises'
import type { ExporterFacts, SenderFactsReader } from '../../model/ports/setup-port.ts'
import { count } from '../text/show.ts'
import { ok, warn, type Finding } from './finding.ts'

const CHECK = 'exporters'
const LOOK_AGAIN_MS = 2_000

/** Whether what was linked is sent: an exporter that is behind is looked at twice. */
export async function* checkExporters(facts: SenderFactsReader, isRunning: boolean): AsyncGenerator<Finding> {
  const before = facts.exporters()
  const isBehind = isRunning && before.some(({ waiting }) => waiting > 0)
  if (isBehind) await sleep(LOOK_AGAIN_MS)
  const now = new Map((isBehind ? facts.exporters() : before).map((exporter) => [keyOf(exporter), exporter]))
  for (const exporter of before) yield findingOf(exporter, now.get(keyOf(exporter)) ?? exporter, isRunning)
}

const keyOf = ({ name, signal }: ExporterFacts): string => `${signal} ${name}`

function findingOf(
  { name, signal, waiting }: ExporterFacts,
  now: ExporterFacts,
  isRunning: boolean,
): Finding {
  const item = signal === 'traces' ? 'span' : 'log record'
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
      is(`has ${now.waiting} to send, and they do not get fewer`),
      `look at its backend, and for ${name} in Causeway's log; nothing is lost meanwhile`,
    )
  }
  const pace = now.waiting === 0 ? 'has sent everything' : `has ${now.waiting} to send, and they get fewer`
  if (now.refused === 0) return ok(CHECK, is(pace))
  return warn(CHECK, is(pace), `look for ${name} in Causeway's log, which says why`)
}
