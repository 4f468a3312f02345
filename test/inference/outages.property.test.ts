import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

interface WatchLine {
  time: string
  type: string
  object: JsonObject & { metadata: { uid?: string } }
}

type AuditLine = JsonObject & { stageTimestamp: string }

/** What an audit log says of a request: with answers and bodies, or that it was made, and nothing of what was in it. */
type Level = 'RequestResponse' | 'Metadata'

/** Nobody looks from one moment to another; then all is listed, and the log is read on from where it was. Milliseconds. */
interface Away {
  fromMs: number
  untilMs: number
  listLateMs: number
  logLateMs: number
  level: Level
}

const RECORDING = new URL('../../lab/evaluation/truth/recordings/operators/', import.meta.url)
const LONGEST_MS = 240_000
/** How long after a request its line is in the log. */
const LOG_MS = 50

function linesOf<Line>(name: string): Line[] {
  const text = gunzipSync(readFileSync(new URL(`${name}.jsonl.gz`, RECORDING))).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

const watched = linesOf<WatchLine>('watch').filter(({ object }) => object.metadata.uid !== undefined)
const audited = linesOf<AuditLine>('audit')
const START_MS = Date.parse(watched[0]?.time ?? '')

const NOBODY_AWAY: Away = {
  fromMs: 0,
  untilMs: 0,
  listLateMs: 0,
  logLateMs: 0,
  level: 'RequestResponse',
}

const away: fc.Arbitrary<Away> = fc
  .record({
    fromMs: fc.nat(LONGEST_MS),
    lastsMs: fc.nat(LONGEST_MS),
    listLateMs: fc.nat(5_000),
    logLateMs: fc.nat(5_000),
    level: fc.constantFrom<Level>('RequestResponse', 'Metadata'),
  })
  .map(({ lastsMs, ...rest }) => ({ ...rest, untilMs: rest.fromMs + lastsMs }))

const nanos = (ms: number): bigint => BigInt(Math.round(ms * 1_000)) * 1_000n

/** What a Causeway hears that was away, in the order in which it does. */
function heard({ fromMs, untilMs, listLateMs, logLateMs, level }: Away): Observation[] {
  const [from, until] = [START_MS + fromMs, START_MS + untilMs]
  const listedAt = until > from ? until + listLateMs : from
  const all: Observation[] = []
  const add = (read: Observation | string): void => {
    if (typeof read !== 'string') all.push(read)
  }
  const there = new Map<string, JsonObject>()
  for (const { time, type, object } of watched) {
    const at = Date.parse(time)
    if (at < listedAt) {
      if (type === 'DELETED') there.delete(object.metadata.uid ?? '')
      else there.set(object.metadata.uid ?? '', object)
    }
    if (at < from || at >= listedAt) add(readWatchEvent({ type, object }, nanos(at)))
  }
  if (until > from)
    for (const object of there.values()) {
      const read = readWatchEvent({ type: 'ADDED', object }, nanos(listedAt))
      if (typeof read !== 'string') add({ ...read, by: 'later list' })
    }
  for (const { requestObject, responseObject, ...event } of audited) {
    const answers = level === 'Metadata' ? {} : { requestObject, responseObject }
    const at = Date.parse(event.stageTimestamp)
    const isAway = at >= from && at < until
    const read = readAuditEvent({ ...event, ...answers } as JsonObject)
    if (typeof read === 'string') continue
    add({ ...read, seenNs: nanos(isAway ? until + logLateMs + (at - from) / 1_000 : at + LOG_MS) })
  }
  return all.sort((one, other) => (one.seenNs < other.seenNs ? -1 : one.seenNs > other.seenNs ? 1 : 0))
}

const decided = (story: Away): readonly Decision[] => replay(heard(story), ['audit', 'watch']).decisions

const bindings = (decisions: readonly Decision[]): string[] =>
  decisions.flatMap(({ part, write: { object } }) => (part === 'binding' ? object.uid : []))

test('however long nobody looked, a binding is one write and begins no change, and no version is decided twice', () => {
  fc.assert(
    fc.property(away, (story) => {
      const decisions = decided(story)
      const pods = bindings(decisions)
      expect(pods).toHaveLength(new Set(pods).size)
      const begun = decisions.filter(({ cause }) => cause === 'operator' || cause === 'self')
      expect(begun.filter(({ part }) => part === 'binding')).toEqual([])
      const versions = decisions.flatMap(({ write: { object }, version }) =>
        version === undefined ? [] : `${object.uid} ${version}`,
      )
      expect(versions).toHaveLength(new Set(versions).size)
    }),
    { numRuns: 12 },
  )
})

/** A cluster that has just started makes its own objects. */
const STARTED_MS = 10_000

/** By whom changes begin that no person began, in a cluster that has started. */
function begunByControllers(decisions: readonly Decision[]): Record<string, number> {
  const others = decisions.filter(
    ({ cause, write: { seenNs } }) => cause === 'self' && seenNs > nanos(START_MS + STARTED_MS),
  )
  const byService = Map.groupBy(others, ({ writer: { service } }) => service)
  return Object.fromEntries([...byService].map(([service, of]) => [service, of.length]))
}

test('an audit log without answers lets no controller begin what it does not begin with answers', () => {
  const whole = decided(NOBODY_AWAY)
  const bare = decided({ ...NOBODY_AWAY, level: 'Metadata' })
  expect(begunByControllers(whole)).toEqual({
    'cronjob-controller': 3,
    'ttl-after-finished-controller': 1,
  })
  expect(begunByControllers(bare)).toEqual(begunByControllers(whole))
  expect(new Set(bindings(bare))).toEqual(new Set(bindings(whole)))
})
