import { expect, test } from '@jest/globals'
import { answer } from '../../src/query/answer.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import type { Question } from '../../src/query/question.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'
import { TooMuchRead } from '../../src/store/sqlite/record-queries.ts'
import { cpid, START_NS } from '../support/otlp-requests.ts'
import { metricsRequest } from '../support/pod-metrics.ts'
import { TestWriter } from '../support/test-writer.ts'

const ROOT = cpid(1) as Cpid
const START = Number(START_NS / 1_000_000_000n)
const MINUTE = 60_000

async function written(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ROOT, time: 0, object: 'apps/v1/deployments/default/web' }])
  const wrote = ['a', 'b'].map((name) => `v1/pods/default/web-${name}?uid=${name}&rv=1`)
  writer.spans('replicaset-controller', [
    { trace: 1, id: 1, cpid: ROOT, start: 0, end: 1, attributes: { 'cpid.wrote': wrote } },
  ])
  writer.ingest(
    'metrics',
    metricsRequest([
      {
        uid: 'a',
        metrics: {
          'k8s.pod.cpu.usage': [
            [0, 0.5],
            [20_000, 0.75],
          ],
          'k8s.pod.phase': [[0, 2]],
        },
      },
      {
        uid: 'a',
        container: 'app',
        metrics: { 'k8s.container.restarts': [[0, 3]], 'container.cpu.usage': [[0, 0.5]] },
      },
      { uid: 'b', container: 'app', metrics: { 'container.memory.working_set': [[0, 1_024]] } },
      { uid: 'c', metrics: { 'k8s.pod.cpu.usage': [[0, 1]] } },
    ]),
  )
  writer.link()
  return writer
}

function ask({ db }: TestWriter, question: Question): unknown {
  const found = answer(sqliteQueries(db), question)
  if (found.kind !== 'found') return found
  return JSON.parse([...found.pieces].join(''))
}

const APP = { container: 'app' }
const EXPECTED = [
  {
    object: 'v1/pods/default/web-a',
    uid: 'a',
    series: [
      {
        ...{ metric: 'k8s.pod.cpu.usage', kind: 'cpu', unit: '{cpu}', cumulative: false, container: null },
        points: [
          { seconds: START, value: 0.5 },
          { seconds: START + 20, value: 0.75 },
        ],
      },
      {
        ...{ metric: 'k8s.container.restarts', kind: 'restarts', unit: '{restart}', ...APP },
        points: [{ seconds: START, value: 3 }],
      },
    ],
  },
  {
    object: 'v1/pods/default/web-b',
    uid: 'b',
    series: [{ metric: 'container.memory.working_set', kind: 'memory', unit: 'By', ...APP }],
  },
]

test('what was measured of the Pods that a cascade wrote is told at once, and stays so', async () => {
  using writer = await written()
  expect(ask(writer, { kind: 'podStats', root: ROOT, limit: 10 })).toMatchObject({
    ...{ root: ROOT, truncated: false, leftOut: 0 },
    pods: EXPECTED,
  })
  writer.pass(11 * MINUTE)
  expect(writer.rows('waiting_pod_points')).toBe(0)
  expect(ask(writer, { kind: 'podStats', root: ROOT, limit: 10 })).toMatchObject({ pods: EXPECTED })
})

test('Pods beyond the limit are counted, and a change that is not there has none', async () => {
  using writer = await written()
  expect(ask(writer, { kind: 'podStats', root: ROOT, limit: 1 })).toMatchObject({
    ...{ truncated: true, leftOut: 1 },
    pods: [{ uid: 'a' }],
  })
  expect(ask(writer, { kind: 'podStats', root: cpid(9) as Cpid, limit: 1 })).toEqual({ kind: 'unknown' })
})

test('where much waits to be decided about, the answer is a long one, of the thread for these', async () => {
  using writer = await written()
  const queries = sqliteQueries(writer.db)
  queries.allow({ bytes: 100, cpids: 10 })
  expect(() => queries.podStats(ROOT, 10)).toThrow(TooMuchRead)
})
