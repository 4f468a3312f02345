import { expect, test } from '@jest/globals'
import { heldFields, overwritesAll } from '../../packages/kubectl/overwritten-fields.ts'
import { writeTarget } from '../../packages/kubectl/write-target.ts'
import type { Json, JsonObject } from '../../src/kube/objects/object-json.ts'
import { KubectlScene, type Step } from './support/kubectl-scene.ts'

const CPID = 'causeway.io/cpid'
const OTHER = '11111111-1111-4111-8111-111111111111'
const WEB = '/apis/apps/v1/namespaces/shop/deployments/web'
const [MERGE, STRATEGIC, APPLY] = ['merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml'].map(
  (type) => `application/${type}`,
) as [string, string, string]

const MARK = { 'f:annotations': { '.': {}, [`f:${CPID}`]: {}, 'f:tracing.k8s.io/traceparent': {} } }
const CONTAINER = { '.': {}, 'f:image': {}, 'f:name': {} }
const AT = (second: number): string => `2026-01-01T00:00:0${second}Z`

const entry = (manager: string, second: number, fieldsV1: JsonObject, subresource?: string): JsonObject => ({
  ...{
    manager,
    operation: 'Update',
    apiVersion: 'apps/v1',
    time: AT(second),
    fieldsType: 'FieldsV1',
    fieldsV1,
  },
  ...(subresource !== undefined && { subresource }),
})

/** As a Deployment stands there that somebody made by one program, and somebody else changed by another. */
function web(...changes: JsonObject[]): JsonObject {
  const template = { spec: { containers: [{ name: 'c', image: 'i:2' }], tolerations: [{ key: 'a' }] } }
  const made = {
    'f:spec': {
      'f:selector': {},
      'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': CONTAINER }, 'f:tolerations': {} } },
    },
  }
  return {
    metadata: {
      ...{ name: 'web', uid: 'u1', resourceVersion: '40', generation: 2, labels: { app: 'web' } },
      annotations: { [CPID]: OTHER },
      managedFields: [
        entry('kubectl-create', 1, made),
        ...changes,
        entry('kube-controller-manager', 5, { 'f:status': { 'f:replicas': {} } }, 'status'),
      ],
    },
    spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
    status: { observedGeneration: 1 },
  }
}

const SCALED = [
  entry('kubectl-causeway', 3, { 'f:metadata': MARK }),
  entry('kubectl', 3, { 'f:spec': { 'f:replicas': {} } }, 'scale'),
]
const IMAGED = [
  entry('kubectl-patch', 3, {
    'f:metadata': MARK,
    'f:spec': { 'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': { 'f:image': {} } } } } },
  }),
]

function isGone(object: Json, method: string, type: string, body: Json, path = WEB): boolean | undefined {
  const [held, target] = [heldFields(object, CPID), writeTarget(method, path)]
  return held && target && overwritesAll(held, { method, type, target, body })
}

const containers = (image: string): JsonObject => ({
  spec: { template: { spec: { containers: [{ name: 'c', image }] } } },
})

test.each<[string, JsonObject, string, string, Json, boolean, string?]>([
  ['a scaling by another', web(...SCALED), 'PATCH', MERGE, { spec: { replicas: 5 } }, true, `${WEB}/scale`],
  ['a scaling by the same', web(...SCALED), 'PATCH', MERGE, { spec: { replicas: 3 } }, false, `${WEB}/scale`],
  ['a scaling by an image', web(...SCALED), 'PATCH', STRATEGIC, containers('i:3'), false],
  ['a scaling by what takes it away', web(...SCALED), 'PATCH', MERGE, { spec: { replicas: null } }, true],
  ['an image by another', web(...IMAGED), 'PATCH', STRATEGIC, containers('i:3'), true],
  ['an image by the same', web(...IMAGED), 'PATCH', STRATEGIC, containers('i:2'), false],
  ['an image by one applied', web(...IMAGED), 'PATCH', APPLY, containers('i:3'), true],
  ['an image by a scaling', web(...IMAGED), 'PATCH', MERGE, { spec: { replicas: 5 } }, false, `${WEB}/scale`],
  [
    'an image by a status',
    web(...IMAGED),
    'PATCH',
    MERGE,
    { status: { replicas: 5 } },
    false,
    `${WEB}/status`,
  ],
  [
    'an image by another list in its place',
    web(...IMAGED),
    'PATCH',
    MERGE,
    { spec: { template: { spec: { containers: [{ name: 'd', image: 'i:2' }] } } } },
    true,
  ],
  [
    'an image by another container',
    web(...IMAGED),
    'PATCH',
    STRATEGIC,
    { spec: { template: { spec: { containers: [{ name: 'd', image: 'i:3' }] } } } },
    false,
  ],
  [
    'an image by a directive',
    web(...IMAGED),
    'PATCH',
    STRATEGIC,
    { spec: { template: { spec: { containers: [{ name: 'c', $patch: 'delete' }] } } } },
    false,
  ],
  ['both by an image', web(...SCALED, ...IMAGED), 'PATCH', STRATEGIC, containers('i:3'), false],
  ['both by a deletion', web(...SCALED, ...IMAGED), 'DELETE', '', {}, true],
  ['an image by a JSON patch', web(...IMAGED), 'PATCH', 'application/json-patch+json', [], false],
  [
    'an image by a whole object',
    web(...IMAGED),
    'PUT',
    'application/json',
    { metadata: { name: 'web' }, ...containers('i:3') },
    true,
  ],
])('whether anything is left of %s', (_, ...row) => {
  const [object, method, type, body, isNothing, path] = row
  expect(isGone(object, method, type, body, path)).toBe(isNothing)
})

test('where managedFields do not tell what a change set, nobody says that nothing is left', () => {
  const [removal] = [entry('kubectl-causeway', 3, { 'f:metadata': MARK })]
  for (const object of [web(), web(removal), { metadata: { annotations: { [CPID]: OTHER } } }])
    expect(heldFields(object, CPID)).toBeUndefined()
})

const READ: Step = { method: 'GET', path: WEB }
const scale = (replicas: number): Step => ({
  ...{ method: 'PATCH', path: `${WEB}/scale`, type: MERGE },
  body: { spec: { replicas } },
})

test('what is written over a change of which it leaves nothing is its own change', async () => {
  const ancestorsOf = async (object: Json, step: Step): Promise<unknown> => {
    await using scene = await KubectlScene.open(({ method }) =>
      method === 'GET' ? { status: 200, body: object as object } : undefined,
    )
    await scene.run([READ, step])
    const [, written] = scene.asked
    return (written?.body as { metadata: { annotations: object } }).metadata.annotations
  }
  const ancestors = 'causeway.io/ancestor-cpids'
  expect(await ancestorsOf(web(...SCALED), scale(5))).toMatchObject({ [ancestors]: '' })
  expect(await ancestorsOf(web(...SCALED), scale(3))).toMatchObject({
    [ancestors]: expect.stringMatching(`^${OTHER},`),
  })
  // One that is a merge itself may stand for several.
  const merged = web(...SCALED)
  Object.assign((merged['metadata'] as { annotations: object }).annotations, { [ancestors]: OTHER })
  expect(await ancestorsOf(merged, scale(5))).toMatchObject({
    [ancestors]: expect.stringMatching(`^${OTHER},`),
  })
})
