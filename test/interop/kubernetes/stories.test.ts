import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import type { Causeway } from '../support/causeway.ts'
import { Scene } from '../support/scene.ts'
import { alphaBetaGamma } from './stories/alpha-beta-gamma.ts'
import { claims } from './stories/claims.ts'
import { customResource } from './stories/custom-resource.ts'
import { daemonSet } from './stories/daemon-set.ts'
import { drained } from './stories/drained.ts'
import { appOf, FORTY, playForty } from './stories/forty-deployments.ts'
import { gitOps } from './stories/gitops.ts'
import { jobAndCronJob } from './stories/job-and-cron-job.ts'
import { namespaceDeleted } from './stories/namespace-deleted.ts'
import { nodeDead } from './stories/node-dead.ts'
import { nodeGone } from './stories/node-gone.ts'
import { podDeleted } from './stories/pod-deleted.ts'
import { rollout } from './stories/rollout.ts'
import { scaledByAutoscaler } from './stories/scaled-by-hpa.ts'
import { scaledByHand } from './stories/scaled-by-hand.ts'
import { statefulSet } from './stories/stateful-set.ts'
import { twoUsers } from './stories/two-users.ts'
import { undo } from './stories/undo.ts'
import { observing, type Sources } from './support/observing.ts'
import { define, Stage } from './support/stage.ts'
import { StoredWrites } from './support/stored-writes.ts'
import { EitherOf, type ExpectedCascade, type Story } from './support/story.ts'

const STORIES: readonly Story[] = [
  alphaBetaGamma,
  claims,
  customResource,
  daemonSet,
  drained,
  gitOps,
  jobAndCronJob,
  namespaceDeleted,
  nodeDead,
  nodeGone,
  podDeleted,
  rollout,
  scaledByAutoscaler,
  scaledByHand,
  statefulSet,
  twoUsers,
  undo,
]
/** What operators are told to have audited. */
const AUDIT_POLICY = new URL('../../../examples/kubernetes/audit-policy.yaml', import.meta.url)
const LONGEST_PLAY_MS = 900_000
const LONGEST_LINKING_MS = 180_000
/** Less than a test may take, so that a test that fails says what was told. */
const LONGEST_LOOK_MS = 90_000
const LAST = 'last-of-all'

/** One cluster for all: each story has a namespace, all are played at once, and Causeways with different sources look on. */
const over = new AsyncDisposableStack()
let scene: Scene
let causeways: ReadonlyMap<Sources, Causeway>

beforeAll(async () => {
  scene = over.use(await Scene.open())
  const users = { alice: ['developers'], bob: ['developers'] }
  const auditPolicy = await readFile(AUDIT_POLICY, 'utf8')
  const cluster = over.use(await Cluster.start(join(scene.directory, 'cluster'), { users, auditPolicy }))
  for (const { defines = [] } of STORIES) for (const one of defines) await define(cluster, one)
  causeways = await observing(scene, cluster)
  const inNamespace = async (name: string, play: (stage: Stage) => Promise<void>): Promise<void> => {
    await cluster.api().create('/api/v1/namespaces', { metadata: { name } })
    await play(new Stage(name, cluster, scene.directory))
  }
  await Promise.all(STORIES.map(({ name, play }) => inNamespace(name, play)))
  await inNamespace(FORTY, playForty)
  // Writes are decided in their order: once this one is told, all are.
  await cluster.kubectl('alice', 'create', 'namespace', LAST)
  for (const causeway of causeways.values())
    await scene.eventually(() => {
      expect(new StoredWrites(causeway).all).toContainEqual(expect.objectContaining({ objectName: LAST }))
    }, LONGEST_LINKING_MS)
}, LONGEST_PLAY_MS)

afterAll(() => over.disposeAsync(), 90_000)

/** What a Causeway with these sources tells in the end, once that is so. */
async function expectTold(sources: Sources, check: (writes: StoredWrites) => void): Promise<void> {
  const causeway = causeways.get(sources)
  if (causeway === undefined) throw new Error(`no Causeway has ${sources}`)
  await scene.eventually(() => check(new StoredWrites(causeway)), LONGEST_LOOK_MS)
}

/** Writes of objects of one of the forty that come from what began with another. */
function strayed(writes: StoredWrites): string[] {
  const of = writes.all.filter(({ namespace, objectName }) => namespace === FORTY && isApp(appOf(objectName)))
  expect(of.length).toBeGreaterThan(1_000)
  const begun = new Map(
    of.flatMap(({ span, cpid, objectName }) =>
      writes.causeOf(span) === 'operator' ? [[cpid, appOf(objectName)]] : [],
    ),
  )
  return of.flatMap(({ cpid, verb, resource, objectName }) => {
    const own = appOf(objectName)
    const others = [...writes.rootsOf(cpid)].flatMap((root) => begun.get(root) ?? [])
    return others.some((other) => other !== own) ? [`${verb} ${resource}/${objectName}`] : []
  })
}

const isApp = (app: string): boolean => app.startsWith('app-')

/** Admission names no program: what somebody did by kubectl is shown as theirs. */
function byUser(cascade: ExpectedCascade): ExpectedCascade {
  const { services, by } = cascade
  if (services === undefined || by === undefined) return cascade
  const named = (some: readonly string[]): string[] =>
    some.map((service) => (service === 'kubectl' ? by : service)).sort()
  if (services instanceof EitherOf) return { ...cascade, services: new EitherOf(...services.all.map(named)) }
  return { ...cascade, services: named(services) }
}

describe.each<Sources>(['audit log and watch', 'admission and watch'])('with %s', (sources) => {
  test.each(STORIES)('$name', async ({ name, cascades, roots = {} }) => {
    await expectTold(sources, (writes) => {
      const told = writes.of(name)
      expect(told.cascades).toMatchObject(sources === 'admission and watch' ? cascades.map(byUser) : cascades)
      for (const [resource, lists] of Object.entries(roots)) expect(told.rootsOf(resource)).toEqual(lists)
    })
  })

  test('of 40 Deployments that two change at once, no write comes from a change of another', async () => {
    await expectTold(sources, (writes) => {
      const begun = writes.all.filter(
        ({ namespace, span }) => namespace === FORTY && writes.causeOf(span) === 'operator',
      )
      expect(begun.filter(({ resource }) => resource === 'deployments')).toHaveLength(40 + 240)
      expect(begun.filter(({ resource }) => resource !== 'deployments')).toEqual([])
      expect(strayed(writes)).toEqual([])
    })
  })
})

/** Without requests nobody knows who, and a scale looks like any change. */
describe('with a watch alone', () => {
  test.each(STORIES.filter(({ needsWho }) => needsWho === undefined))('$name', async ({ name, cascades }) => {
    const expected = cascades.map(({ began, objects }) => ({
      began: began.replace(/^scale/, 'change'),
      ...(objects !== undefined && { objects }),
    }))
    await expectTold('a watch alone', (writes) => {
      expect(writes.of(name).cascades).toMatchObject(expected)
    })
  })

  test('of 40 Deployments that two change at once, no write comes from a change of another', async () => {
    await expectTold('a watch alone', (writes) => expect(strayed(writes)).toEqual([]))
  })
})
