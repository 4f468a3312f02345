import { test, expect } from '@jest/globals'
import fc from 'fast-check'
import type { ControlPlane } from '../../packages/control-plane/control-plane.ts'
import { isRefusal } from '../../packages/control-plane/api/api-error.ts'
import { deployment, service } from '../../packages/control-plane/manifests.ts'
import { MergeGraph, mergelogsOf } from '../../lab/evaluation/traceability/merge-graph.ts'
import { compare, play, rootOf, type Played } from '../../lab/evaluation/traceability/play.ts'

const CPID = 'causeway.io/cpid'
const WEB = { name: 'web', namespace: 'default' }
const QUIET_MS = 5_000

type Step = ['scale', number] | ['image', number] | ['delete a Pod', number] | ['create it again']

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.tuple(fc.constant('scale' as const), fc.integer({ min: 0, max: 4 })),
    fc.tuple(fc.constant('image' as const), fc.integer({ min: 1, max: 3 })),
    fc.tuple(fc.constant('delete a Pod' as const), fc.nat(9)),
    fc.constant<Step>(['create it again']),
  ),
  { maxLength: 5 },
)

const settings = fc.record({
  seed: fc.nat(),
  maxAncestors: fc.constantFrom(0, 1, 3, 10),
  marksDeletions: fc.boolean(),
  latency: fc.record({ watchDrops: fc.constantFrom(0, 0.2), watchExpires: fc.constantFrom(0, 0.5) }),
})

async function take({ kubectl, store }: ControlPlane, [what, number = 0]: Step): Promise<unknown> {
  if (what === 'scale') return kubectl.scale(WEB, number)
  if (what === 'image') return kubectl.setImage(WEB, `web:${number}`)
  if (what === 'delete a Pod') {
    const pods = store.list('v1/pods').items
    const pod = pods[number % Math.max(1, pods.length)]
    return pod === undefined ? undefined : kubectl.delete('v1/pods', pod.metadata)
  }
  await kubectl.delete('apps/v1/deployments', WEB)
  return kubectl.create('apps/v1/deployments', deployment('web', 1))
}

function history(taken: readonly Step[], pauseMs: number) {
  return async (plane: ControlPlane) => {
    await plane.kubectl.create('v1/services', service('web'))
    await plane.kubectl.create('apps/v1/deployments', deployment('web', 2))
    for (const step of taken) {
      await (pauseMs === 0 ? plane.settled(QUIET_MS) : plane.sleep(pauseMs))
      await take(plane, step).catch((error: unknown) => {
        if (!isRefusal(error, 'NotFound')) throw error
      })
    }
    await plane.settled(QUIET_MS)
  }
}

/** Writes that do not descend from something that was observed for them. */
function untrue({ truth, recorder }: Played): string[] {
  const graph = new MergeGraph(mergelogsOf(recorder))
  return truth.deeds.flatMap(({ component, did, resource, cpid = '', written, read }) => {
    const carried = written === undefined ? cpid : written.metadata.annotations?.[CPID]
    const forgotten = read.filter(({ metadata: { annotations } }) => {
      const seen = annotations?.[CPID]
      return seen !== undefined && !graph.relatedOf(seen).has(carried ?? '')
    })
    return forgotten.map(({ kind }) => `${component} ${did} ${resource} and forgot a ${kind}`)
  })
}

test('whatever happens, what is written descends from all that was observed for it', async () => {
  await fc.assert(
    fc.asyncProperty(settings, steps, fc.integer({ min: 1, max: 2_000 }), async (given, taken, pauseMs) => {
      const played = await play(given, history(taken, pauseMs))
      expect(played.truth.deeds.length).toBeGreaterThan(5)
      expect(untrue(played)).toEqual([])
    }),
    { numRuns: 60 },
  )
})

test('the CPIDs related to each operation are those of the writes that truly follow from it', async () => {
  await fc.assert(
    fc.asyncProperty(settings, steps, async (given, taken) => {
      const { truth, recorder } = await play({ ...given, marksDeletions: true }, history(taken, 0))
      const graph = new MergeGraph(mergelogsOf(recorder))
      const done = truth.operations.filter((operation) => {
        return truth.deeds.some((deed) => deed.operation === operation)
      })
      expect(done.length).toBeGreaterThan(1)
      for (const operation of done) {
        const related = graph.relatedOf(rootOf(recorder, operation) ?? '')
        const { missed, wronglyTied } = compare(truth.deeds, truth, operation, related)
        expect({ operation, missed, wronglyTied }).toEqual({ operation, missed: [], wronglyTied: [] })
      }
    }),
    { numRuns: 60 },
  )
})
