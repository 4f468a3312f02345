import { expect, test } from '@jest/globals'
import { parseCpid } from '../../src/model/merge-graph.ts'
import { ask } from '../query/asking.ts'
import { liveThroughRollout } from '../support/recorded-rollout.ts'

interface Cascade {
  services: number
  merges: number
  missing: number
  criticalPath: { steps: { name: string }[] }
  traces: { spans: { name: string; depth: number; service: string }[] }[]
}

const { writer, decisions } = await liveThroughRollout()

function cascadeOf(version: bigint): Cascade {
  const begun = decisions.find(({ write }) => write.version === version)
  const root = parseCpid(begun?.cpid ?? '')
  if (root === undefined) throw new Error(`nothing was decided about version ${version}`)
  return ask<Cascade>(writer, { kind: 'cascade', root })
}

const treeOf = ({ traces: [trace] }: Cascade): string[] =>
  (trace?.spans ?? []).map(({ name, depth, service }) => `${'  '.repeat(depth)}${name} by ${service}`)

test('the cascade of an apply is told from the Deployment to the Pods that run', () => {
  expect(treeOf(cascadeOf(379n))).toEqual([
    'change apps/v1/deployments by kubectl',
    '  create apps/v1/deployments by kubectl',
    '    create apps/v1/replicasets by deployment-controller',
    '      update apps/v1/deployments status by deployment-controller',
    '        update apps/v1/deployments status by deployment-controller',
    '      create v1/pods by replicaset-controller',
    '        bind v1/pods by kube-scheduler',
    '          update v1/pods status by kwok',
    '      create v1/pods by replicaset-controller',
    '        bind v1/pods by kube-scheduler',
    '          update v1/pods status by kwok',
    '      create v1/pods by replicaset-controller',
    '        bind v1/pods by kube-scheduler',
    '          update v1/pods status by kwok',
    '            update apps/v1/replicasets status by replicaset-controller',
    '              update apps/v1/deployments status by deployment-controller',
    '              update apps/v1/replicasets status by replicaset-controller',
    '                update apps/v1/deployments status by deployment-controller',
    '      update apps/v1/replicasets status by replicaset-controller',
    '        update apps/v1/replicasets status by replicaset-controller',
    '          update apps/v1/deployments status by deployment-controller',
    '  cascade by kubectl',
    '  merged into by endpoint-controller',
    '  merged into by endpointslice-controller',
    '  merged into by deployment-controller',
  ])
})

test('what each person did has a cascade of its own, of which nothing is missing', () => {
  const begun = decisions.filter(
    ({ cause, write }) =>
      cause === 'operator' && write.object.namespace === 'shop' && write.version !== undefined,
  )
  const told = begun.map(({ part, write }) => {
    const { services, missing } = cascadeOf(write.version ?? 0n)
    return `${part} ${write.object.resource}: ${services} services, ${missing} missing`
  })
  expect(told).toEqual([
    'creation deployments: 5 services, 0 missing',
    'creation services: 4 services, 0 missing',
    'scale deployments: 7 services, 0 missing',
    'authored deployments: 7 services, 0 missing',
    'authored deployments: 2 services, 0 missing',
    'creation horizontalpodautoscalers: 8 services, 0 missing',
    'authored deployments: 7 services, 0 missing',
    // Of two at once, the one that changed nothing of the template.
    'authored deployments: 7 services, 0 missing',
    'authored deployments: 7 services, 0 missing',
    'deletion pods: 8 services, 0 missing',
    'deletion horizontalpodautoscalers: 1 services, 0 missing',
    'deletion deployments: 5 services, 0 missing',
    'deletion services: 4 services, 0 missing',
  ])
})

test('the critical path of a rollout leads from each scaling to the progress that it went on after', () => {
  const { steps } = cascadeOf(447n).criticalPath
  const isScaling = (name: string): boolean => name === 'update apps/v1/replicasets'
  const before = steps.flatMap((_, at) => (isScaling(steps[at + 1]?.name ?? '') ? [steps[at]?.name] : []))
  expect(before).toEqual([
    'patch apps/v1/deployments',
    'update apps/v1/replicasets status',
    'merge',
    'update apps/v1/replicasets status',
    'update apps/v1/replicasets status',
  ])
})

test('the same told again is known: nothing is stored, and nothing sent, twice', async () => {
  const counts = (): unknown =>
    writer.db
      .prepare(
        'SELECT (SELECT count(*) FROM spans), (SELECT count(*) FROM outbox), (SELECT count(*) FROM mergelogs)',
      )
      .raw()
      .get()
  const before = counts()
  await liveThroughRollout({ known: writer })
  expect(counts()).toEqual(before)
})
