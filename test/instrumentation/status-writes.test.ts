import { expect, test } from '@jest/globals'
import { JsonLogsSerializer, JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { traceCluster } from '../../packages/instrumentation/src/kubernetes/index.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import type { Cascade } from '../../src/query/answer-schemas.ts'
import { ask, id } from '../query/asking.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { Api, httpApi, startServer, type Stored } from './support/asked-server.ts'
import { type Sdk, startSdk } from './support/start-sdk.ts'

const CPID = 'causeway.io/cpid'
const WEB = '/apis/apps/v1/namespaces/default/deployments/web'
const WAIT_MS = 10_000
const STATUS = 'write apps/v1/deployments/status'

const reference = (version: number): string => `apps/v1/deployments/default/web?uid=u1&rv=${version}`

const entry = (manager: string, second: number, subresource?: string) => ({
  ...{ manager, operation: 'Update', time: `2026-01-01T00:00:0${second}Z`, subresource },
  fieldsV1:
    subresource === undefined
      ? { 'f:metadata': { 'f:annotations': { [`f:${CPID}`]: {} } } }
      : { 'f:status': {} },
})

const deployment = (version: number, number: number, managedFields: object[]): Stored => {
  const annotations = { [CPID]: cpid(number) }
  const metadata = { name: 'web', namespace: 'default', uid: 'u1', annotations, managedFields }
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    metadata: { ...metadata, resourceVersion: String(version) },
  }
}

/**
 * An operator that marks a Deployment whenever it is woken. Its first write is version 5; version 6 is by somebody else, and
 * wakes it again.
 */
async function operate(sdk: Sdk, tellsStatusWrites: boolean, second: Stored): Promise<void> {
  let version = 5
  await using server = await startServer(({ body }) => {
    const answer = deployment(version, 1, [entry('operator', 1)])
    version += 2
    return [
      200,
      { ...answer, metadata: { ...answer.metadata, annotations: body?.metadata?.annotations ?? {} } },
    ]
  })
  let next = 1
  const config = { makeApiClient: (type: typeof Api) => new type({ httpApi }) }
  const cluster = traceCluster(config, { newCpid: () => cpid(next++), tellsStatusWrites })
  const api = cluster.kubeConfig.makeApiClient(Api)
  const handlers: ((object: Stored) => void)[] = []
  const informer = {
    on: (_verb: string, tell: (object: Stored) => void) => void handlers.push(tell),
    get: () => undefined,
    list: () => [],
  }
  cluster.informer(informer, { apiVersion: 'apps/v1', kind: 'Deployment' })
  const see = (object: Stored): void => handlers[0]?.(object)
  const reconcile = cluster.reconciler('reconcile', () =>
    api.ask('PUT', server.url + WEB, { metadata: { name: 'web' } }),
  )
  const { answer } = await reconcile('web')
  see(answer)
  see(second)
  await reconcile(reconcile.wokenBy('web', second))
  await reconcile(reconcile.wokenBy('web', second))
  expect(sdk.spans().filter(({ name }) => name === 'reconcile')).toHaveLength(3)
}

/** The cascade of what an operator told, when it has just been told and when nothing is waited for any more. */
async function cascades(sdk: Sdk): Promise<Cascade[]> {
  using writer = await TestWriter.open()
  const bytes = (of: Uint8Array | undefined, signal: 'traces' | 'logs') =>
    Buffer.from(protobufOfJson(signal, Buffer.from(of ?? [])))
  writer.ingest('logs', bytes(JsonLogsSerializer.serializeRequest(sdk.records()), 'logs'))
  writer.ingest('traces', bytes(JsonTraceSerializer.serializeRequest(sdk.spans()), 'traces'))
  return [0, WAIT_MS + 1].map((ms) => {
    writer.pass(ms)
    return ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
  })
}

const treeOf = (cascade: Cascade | undefined): string[] =>
  (cascade?.traces[0]?.spans ?? []).map(
    ({ name, depth, beingPlaced }) => `${'  '.repeat(depth)}${name}${beingPlaced === true ? ' …' : ''}`,
  )

const byOperator = entry('operator', 1)
const byKubernetes = deployment(6, 1, [byOperator, entry('kube-controller-manager', 2, 'status')])

test('a status that Kubernetes wrote stands between what the operator wrote and what it did then, at once', async () => {
  await using sdk = startSdk()
  await operate(sdk, true, byKubernetes)
  const told = sdk.spans().filter(({ name }) => name === STATUS)
  expect(told.map(({ attributes }) => attributes)).toEqual([
    { 'cpid.id': cpid(1), 'cpid.wrote': [reference(6)], 'cpid.observed': [reference(5)] },
  ])
  expect(told[0]?.endTime).toEqual(told[0]?.startTime)
  const [atOnce, later] = await cascades(sdk)
  expect(treeOf(atOnce)).toEqual([
    'change apps/v1/deployments',
    '  reconcile',
    '    update apps/v1/deployments',
    `      ${STATUS}`,
    '        reconcile',
    '          update apps/v1/deployments',
    '        reconcile',
    '          update apps/v1/deployments',
  ])
  expect(treeOf(later)).toEqual(treeOf(atOnce))
})

test.each([
  ['where that is not asked for', false, byKubernetes],
  ['who may tell of it', true, deployment(6, 1, [byOperator, entry('other', 2, 'status')])],
  [
    'who wrote no status',
    true,
    deployment(6, 1, [
      byOperator,
      entry('kube-controller-manager', 1, 'status'),
      { ...entry('kubectl', 2), fieldsV1: { 'f:metadata': {} } },
    ]),
  ],
])(
  'nobody tells of a write by somebody else %s: what it woke waits for that, and hangs below the one before',
  async (_which, tells, second) => {
    await using sdk = startSdk()
    await operate(sdk, tells, second)
    expect(sdk.spans().filter(({ name }) => name === STATUS)).toEqual([])
    const [atOnce, later] = await cascades(sdk)
    expect(treeOf(atOnce).filter((line) => line.endsWith('…'))).toEqual(['  reconcile …', '  reconcile …'])
    expect(treeOf(later).slice(2, 4)).toEqual(['    update apps/v1/deployments', '      reconcile'])
  },
)
