import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replay, type Replayed, type Source } from '../../../lab/harness/inference/replay.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import type { Observation } from '../../../src/model/kubernetes/observation.ts'
import { alphaBetaGamma } from './stories/alpha-beta-gamma.ts'
import { customResource } from './stories/custom-resource.ts'
import { daemonSet } from './stories/daemon-set.ts'
import { appOf, FORTY, playForty } from './stories/forty-deployments.ts'
import { gitOps } from './stories/gitops.ts'
import { jobAndCronJob } from './stories/job-and-cron-job.ts'
import { namespaceDeleted } from './stories/namespace-deleted.ts'
import { nodeGone } from './stories/node-gone.ts'
import { podDeleted } from './stories/pod-deleted.ts'
import { rollout } from './stories/rollout.ts'
import { scaledByAutoscaler } from './stories/scaled-by-hpa.ts'
import { scaledByHand } from './stories/scaled-by-hand.ts'
import { statefulSet } from './stories/stateful-set.ts'
import { twoUsers } from './stories/two-users.ts'
import { undo } from './stories/undo.ts'
import { audited } from './support/audited.ts'
import { Stage } from './support/stage.ts'
import type { Story } from './support/story.ts'
import { toldByDecisions } from './support/told-by-decisions.ts'
import { Watched } from './support/watched.ts'

const STORIES: readonly Story[] = [
  alphaBetaGamma,
  customResource,
  daemonSet,
  gitOps,
  jobAndCronJob,
  namespaceDeleted,
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
const LONGEST_PLAY_MS = 240_000

/** One cluster for all: each story has a namespace, and all are played at once. */
const over = new AsyncDisposableStack()
const told = new Map<Source, readonly Observation[]>()

beforeAll(async () => {
  const parent = process.env['CAUSEWAY_INTEROP_DIRECTORY'] ?? tmpdir()
  const directory = await mkdtemp(join(parent, 'stories-'))
  over.defer(() => rm(directory, { recursive: true, force: true }))
  const users = { alice: ['developers'], bob: ['developers'] }
  const auditPolicy = await readFile(AUDIT_POLICY, 'utf8')
  const cluster = over.use(await Cluster.start(join(directory, 'cluster'), { users, auditPolicy }))
  const watched = over.use(await Watched.start(cluster))
  await Promise.all(
    STORIES.map(async ({ name, play }) => {
      await cluster.api().create('/api/v1/namespaces', { metadata: { name } })
      await play(new Stage(name, cluster, watched, directory))
    }),
  )
  await cluster.api().create('/api/v1/namespaces', { metadata: { name: FORTY } })
  await playForty(new Stage(FORTY, cluster, watched, directory))
  told.set('watch', watched.versions).set('audit', audited(cluster.auditLog))
}, LONGEST_PLAY_MS)

afterAll(() => over.disposeAsync(), 60_000)

/** What is decided when these sources tell. */
function decided(...sources: readonly Source[]): Replayed {
  const all = sources.flatMap((source) => told.get(source) ?? [])
  return replay(
    all.sort((one, other) => (one.seenNs < other.seenNs ? -1 : 1)),
    sources,
  )
}

/** Decisions about objects of one of the forty, and what they come from of another. */
function strayed({ decisions, changes }: Replayed): string[] {
  const of = decisions.filter(({ write }) => write.object.namespace === FORTY)
  expect(of.length).toBeGreaterThan(1_000)
  const roots = of.filter(({ sources }) => sources?.length === 0)
  const begun = new Map(roots.map(({ cpid, write }) => [cpid, appOf(write.object.name)]))
  const isApp = (app: string | undefined): boolean => app?.startsWith('app-') === true
  return of.flatMap(({ cpid, write, part }) => {
    const own = appOf(write.object.name)
    const others = changes.rootsOf(cpid).filter((root) => isApp(begun.get(root)) && begun.get(root) !== own)
    return isApp(own) && others.length > 0 ? [`${part} ${write.object.resource}/${write.object.name}`] : []
  })
}

describe('with audit log and watch', () => {
  let replayed: Replayed
  beforeAll(() => void (replayed = decided('audit', 'watch')))

  test.each(STORIES)('$name', ({ name, cascades, roots = {} }) => {
    const seen = toldByDecisions(replayed, name)
    expect(seen.cascades).toMatchObject(cascades)
    for (const [resource, lists] of Object.entries(roots)) expect(seen.rootsOf(resource)).toEqual(lists)
  })

  test('of 40 Deployments that two change at once, no write comes from a change of another', () => {
    const begun = replayed.decisions.filter(
      ({ cause, write }) => cause === 'operator' && write.object.namespace === FORTY,
    )
    expect(begun.filter(({ write }) => write.object.resource === 'deployments')).toHaveLength(40 + 240)
    expect(begun.filter(({ write }) => write.object.resource !== 'deployments')).toEqual([])
    expect(strayed(replayed)).toEqual([])
  })
})

/** Without requests nobody knows who, and a scale looks like any change. */
describe('with a watch alone', () => {
  let replayed: Replayed
  beforeAll(() => void (replayed = decided('watch')))

  test.each(STORIES.filter(({ needsWho }) => needsWho === undefined))('$name', ({ name, cascades }) => {
    const { cascades: seen } = toldByDecisions(replayed, name)
    const expected = cascades.map(({ began, objects }) => ({
      began: began.replace(/^scale/, 'change'),
      ...(objects !== undefined && { objects }),
    }))
    expect(seen).toMatchObject(expected)
  })

  test('of 40 Deployments that two change at once, no write comes from a change of another', () => {
    expect(strayed(replayed)).toEqual([])
  })
})
