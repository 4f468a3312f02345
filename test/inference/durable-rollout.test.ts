import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { replay, type Source } from '../../lab/harness/inference/replay.ts'
import { recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import { versionReference } from '../../src/kube/inference/inferred-telemetry.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { type Observation, serializeObservations } from '../../src/model/kubernetes-observations.ts'
import { NANOS_PER_MS } from '../../src/model/time-and-size.ts'
import { migratedMemory } from '../support/migrated-memory.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'

const BOTH: readonly Source[] = ['audit', 'watch']
const SETTINGS = {
  inference: {
    ...{ relations: RELATIONS, operators: [], controllers: ['kwok'], windowMs: 500, whoWaitMs: 2_000 },
    clusters: { test: { versions: true, requests: true } },
  },
}
const OBSERVED = recordedObservations(BOTH)
const START_MS = Number((OBSERVED[0]?.seenNs ?? 0n) / NANOS_PER_MS)

/** What the database holds of the writes that were decided: of which change each version is, and what that merges. */
function decidedBy(writer: TestWriter): string[] {
  return writer.db
    .prepare<[], string>(
      `SELECT o.object || '@' || w.version || ' ' || c.text || ' of ' ||
         ifnull((SELECT group_concat(text) FROM (SELECT s.text FROM edges e JOIN cpids s ON s.id = e.source
            WHERE e.target = c.id ORDER BY s.text)), '')
       FROM span_objects w JOIN spans s ON s.id = w.span JOIN cpids c ON c.id = s.cpid JOIN objects o ON o.id = w.object
       WHERE w.role = 1 AND w.version >= 0 ORDER BY 1`,
    )
    .pluck()
    .all()
}

/** The same, as it is decided in memory. */
function decidedInMemory(): string[] {
  const { decisions } = replay(OBSERVED, BOTH)
  const merges = new Map(
    decisions.map(({ cpid, sources }) => [cpid, sources] as const).filter(([, of]) => of),
  )
  return decisions
    .filter(({ version }) => version !== undefined)
    .map(({ cpid, version, write: { object } }) => {
      const [reference] = versionReference(object, undefined).split('?')
      return `${reference}@${version} ${cpid} of ${(merges.get(cpid) ?? []).join(',')}`
    })
    .sort()
}

interface Life {
  /** After which observation each telling ends. */
  cuts: ReadonlySet<number>
  /** Before which observation Causeway is killed and started again. */
  kills: ReadonlySet<number>
}

async function lived(observed: readonly Observation[], { cuts, kills }: Life): Promise<TestWriter> {
  const db = await migratedMemory()
  let writer = TestWriter.on(db, SETTINGS, new TestClock(START_MS))
  let told: Observation[] = []
  for (const [at, one] of observed.entries()) {
    told.push(one)
    if (!cuts.has(at) && at < observed.length - 1) continue
    if (kills.has(at)) writer = writer.reopened()
    passUntil(writer, Number(one.seenNs / NANOS_PER_MS))
    while (writer.writer.inference.infer(50));
    const telling = {
      cluster: 'test',
      stream: 'all',
      position: String(at),
      body: serializeObservations(told),
    }
    expect(writer.writer.inference.record([telling])).toEqual([{ kind: 'stored' }])
    told = []
    if (kills.has(at + 1)) writer = writer.reopened()
    while (writer.writer.inference.infer(50));
  }
  writer.clock.advance(60_000)
  while (writer.writer.inference.infer(50));
  return writer
}

function passUntil(writer: TestWriter, ms: number): void {
  writer.clock.advance(Math.max(0, ms - writer.clock.wallMs()))
}

const EVERY: ReadonlySet<number> = new Set(OBSERVED.keys())
const IN_MEMORY = decidedInMemory()

test('what is stored is what is decided in memory', async () => {
  const writer = await lived(OBSERVED, { cuts: EVERY, kills: new Set() })
  expect(decidedBy(writer)).toEqual(IN_MEMORY)
  expect(writer.rows('k8s_tellings')).toBe(0)
  expect(writer.rows('set_aside')).toBe(0)
})

test('killed and started again at any moment, it goes on where it was and decides the same', async () => {
  const times = fc.uniqueArray(fc.nat(OBSERVED.length), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(times, async (kills) => {
      const writer = await lived(OBSERVED, { cuts: EVERY, kills: new Set(kills) })
      expect(decidedBy(writer)).toEqual(IN_MEMORY)
      expect(writer.rows('k8s_tellings')).toBe(0)
    }),
    { numRuns: 12 },
  )
}, 180_000)
