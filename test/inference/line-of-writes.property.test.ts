import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { LineOfWrites } from '../../src/inference/line-of-writes.ts'
import type { JsonObject } from '../../src/kubernetes/json-access.ts'
import { readAuditEvent } from '../../src/kubernetes/read-audit-event.ts'
import { readWatchEvent } from '../../src/kubernetes/read-watch-event.ts'
import type { Observation } from '../../src/model/kubernetes/observation.ts'
import type { Write } from '../../src/model/kubernetes/write.ts'

const WINDOW = 500
const WHO_WAIT = 2_000
const MS = 1_000_000n
const START_MS = Date.UTC(2026, 0, 1)

/** A write, and how long after it each source tells of it, in milliseconds; never where it does not. */
interface Told {
  afterMs: number
  watch: number | undefined
  audit: number | undefined
  verb: 'update' | 'binding' | 'delete'
}

const told: fc.Arbitrary<Told> = fc.record({
  afterMs: fc.nat(400),
  watch: fc.nat(WINDOW - 1),
  audit: fc.option(fc.nat(WHO_WAIT - 1), { nil: undefined }),
  verb: fc.constantFrom('update', 'binding', 'delete'),
})

function observed(write: Told, at: number, ms: number): { atMs: number; observation: Observation }[] {
  const time = new Date(START_MS + ms).toISOString()
  const metadata = { name: `pod-${at}`, namespace: 'shop', uid: `u${at}`, resourceVersion: String(at + 1) }
  const deletion = write.verb === 'delete' ? { deletionTimestamp: time } : {}
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { ...metadata, ...deletion },
    spec: { nodeName: 'n1' },
  }
  const isPlain = write.verb === 'update'
  const event: JsonObject = {
    ...{
      stage: 'ResponseComplete',
      verb: { update: 'update', binding: 'create', delete: 'delete' }[write.verb],
    },
    ...{
      auditID: `id-${at}`,
      requestURI: '/',
      responseStatus: { code: 200 },
      user: { username: 'somebody' },
    },
    objectRef: {
      ...metadata,
      resource: 'pods',
      apiVersion: 'v1',
      ...(write.verb === 'binding' && { subresource: 'binding' }),
    },
    responseObject: isPlain ? pod : { kind: 'Status', metadata: {} },
    ...{ requestReceivedTimestamp: time, stageTimestamp: time },
  }
  const watched = readWatchEvent(
    { type: 'MODIFIED', object: pod },
    BigInt(START_MS + ms + (write.watch ?? 0)) * MS,
  )
  const sources: [number | undefined, Observation | string][] = [
    [write.watch, watched],
    [write.audit, readAuditEvent(event)],
  ]
  return sources.flatMap(([after, observation]) =>
    after === undefined || typeof observation === 'string' ? [] : [{ atMs: ms + after, observation }],
  )
}

/** What comes out when the sources tell of writes in the order in which they do, and are asked as often as they tell. */
function lived(writes: readonly Told[]): Write[] {
  const line = new LineOfWrites({
    windowNs: BigInt(WINDOW) * MS,
    whoWaitNs: BigInt(WHO_WAIT) * MS,
    isWatched: true,
  })
  let ms = 0
  const all = writes.flatMap((write, at) => observed(write, at, (ms += write.afterMs)))
  const out: Write[] = []
  const told: { nowNs: bigint; name: string }[] = []
  for (const { atMs, observation } of all.sort((one, other) => one.atMs - other.atMs)) {
    const nowNs = BigInt(START_MS + atMs) * MS
    line.add(observation, nowNs)
    told.push({ nowNs, name: observation.object.name })
    out.push(...line.takeDue(nowNs, 3))
    const decided = told.filter((one) => one.nowNs < (line.oldestNs ?? nowNs + 1n))
    for (const { name } of decided) expect(out.map(({ object }) => object.name)).toContain(name)
  }
  out.push(...line.takeDue(BigInt(START_MS + ms + 10 * WHO_WAIT) * MS))
  expect(line.size).toBe(0)
  return out
}

test('each write comes once, in order of versions, with the request of whoever made it', () => {
  fc.assert(
    fc.property(fc.array(told, { maxLength: 30 }), (writes) => {
      const out = lived(writes)
      expect(out.map(({ version }) => Number(version))).toEqual(writes.map((_, at) => at + 1))
      expect(out.map(({ request }) => request?.auditId)).toEqual(
        writes.map(({ audit }, at) => (audit === undefined ? undefined : `id-${at}`)),
      )
    }),
    { numRuns: 300 },
  )
})
