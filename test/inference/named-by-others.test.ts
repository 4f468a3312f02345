import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'
import { nanosOfMs } from '../../src/model/time-and-size.ts'

const START_MS = Date.UTC(2026, 0, 1)
const API = 'trade.example.com/v1'
const RESOURCES: Readonly<Record<string, [apiVersion: string, resource: string]>> = {
  Stall: [API, 'stalls'],
  Lane: [API, 'lanes'],
  Rule: [API, 'rules'],
  Service: ['v1', 'services'],
  ConfigMap: ['v1', 'configmaps'],
  Pod: ['v1', 'pods'],
  Job: ['batch/v1', 'jobs'],
  Deployment: ['apps/v1', 'deployments'],
  ReplicaSet: ['apps/v1', 'replicasets'],
  Namespace: ['v1', 'namespaces'],
}
const PEOPLE = ['alice', 'bob', 'carol']
const VERBS = { ADDED: 'create', MODIFIED: 'update', DELETED: 'delete' } as const

interface Write {
  readonly type?: keyof typeof VERBS
  readonly kind: string
  readonly name: string
  readonly meta?: JsonObject
  readonly rest?: JsonObject
  readonly subresource?: string
}
/** When and by whom: a person or an account. Versions count the seconds. */
type Told = readonly [second: number, by: string, write: Write]

function observed([second, by, write]: Told): [watched: Observation, audited: Observation] {
  const { type = 'MODIFIED', kind, name, meta = {}, rest = {}, subresource = '' } = write
  const [apiVersion, resource] = RESOURCES[kind] ?? ['', '']
  const isPerson = PEOPLE.includes(by)
  const namespace = kind === 'Namespace' ? '' : 'shop'
  const metadata = { name, namespace, uid: `uid of ${name}`, resourceVersion: String(second), ...meta }
  const object = { kind, apiVersion, metadata, ...rest }
  const timeAt = (ms: number): string => new Date(START_MS + second * 1_000 + ms).toISOString()
  const username = isPerson ? by : `system:serviceaccount:controllers:${by}`
  const both = [
    readWatchEvent({ type, object }, nanosOfMs(START_MS + second * 1_000)),
    readAuditEvent({
      ...{ stage: 'ResponseComplete', level: 'RequestResponse', verb: VERBS[type], auditID: `of ${second}` },
      ...{ user: { username }, userAgent: `${isPerson ? 'kubectl' : by}/v1`, requestURI: '/' },
      ...{ objectRef: { apiVersion, resource, namespace, name, ...(subresource !== '' && { subresource }) } },
      ...{ requestReceivedTimestamp: timeAt(-10), stageTimestamp: timeAt(1) },
      ...{ responseStatus: { code: 200 }, responseObject: object },
    }),
  ]
  const [watched, audited] = both.map((one) => {
    if (typeof one === 'string') throw new Error(one)
    return one
  })
  return [watched!, audited!]
}

const decided = (...told: Told[]): readonly Decision[] =>
  replay(told.flatMap(observed), ['audit', 'watch']).decisions

/** What the last of these writes follows from, beside its own object, and how that was found. */
function read(...told: Told[]): unknown[] {
  const last = decided(...told).at(-1)
  return (last?.reads ?? [])
    .filter(({ identity }) => identity.uid !== last?.write.object.uid)
    .map(({ identity, known, foundBy }) => [identity.name, Number(known.version), foundBy])
}

const status = (text: string): JsonObject => ({ status: { text } })
const generation = (count: number, more: JsonObject = {}): JsonObject => ({ generation: count, ...more })
/** A custom resource that a person makes, and whose program has written its status. */
const lookedAfter = (second: number, kind: string, name: string, spec: JsonObject): Told[] => [
  [second, 'alice', { type: 'ADDED', kind, name, meta: generation(1), rest: { spec } }],
  [
    second + 1,
    'stall-program',
    { kind, name, meta: generation(1), rest: { spec, ...status('new') }, subresource: 'status' },
  ],
]
const ownedBy = (kind: string, name: string): JsonObject => ({
  ownerReferences: [{ apiVersion: API, kind, name, uid: `uid of ${name}`, controller: true }],
})
const made = (kind: string, name: string, meta: JsonObject = {}, rest: JsonObject = {}): Write => ({
  ...{ type: 'ADDED', kind, name, meta, rest },
})

const WEB = { kind: 'Deployment', name: 'web' }
const scaled = (replicas: number, count: number): Partial<Write> => ({
  meta: generation(count),
  rest: { spec: { replicas } },
})

test('what is scaled for an object follows from what else that object names', () => {
  const spec = { scaleTargetRef: { name: 'web' }, configMapName: 'load' }
  expect(
    read(
      [5, 'alice', { ...WEB, ...scaled(1, 1), type: 'ADDED' }],
      [6, 'alice', made('ConfigMap', 'load')],
      ...lookedAfter(10, 'Stall', 'toys', spec),
      [30, 'bob', { kind: 'ConfigMap', name: 'load', rest: { data: { length: '30' } } }],
      [34, 'stall-program', { ...WEB, ...scaled(3, 2), subresource: 'scale' }],
    ),
  ).toContainEqual(['load', 30, 'spec.configMapName'])
})

const sized = (size: string): JsonObject => ({ targetRef: { name: 'web' }, size })
const POD = { kind: 'Pod', name: 'web-1-a', meta: ownedBy('ReplicaSet', 'web-1') }
test('a Pod is deleted for what names an owner of its owner', () => {
  expect(
    read(
      [5, 'alice', { ...WEB, ...scaled(1, 1), type: 'ADDED' }],
      [6, 'alice', made('ReplicaSet', 'web-1', ownedBy('Deployment', 'web'))],
      [7, 'alice', { ...POD, type: 'ADDED' }],
      ...lookedAfter(10, 'Stall', 'toys', sized('S')),
      [30, 'bob', { kind: 'Stall', name: 'toys', meta: generation(2), rest: { spec: sized('L') } }],
      [31, 'stall-program', { ...POD, type: 'DELETED' }],
    ),
  ).toContainEqual(['toys', 30, 'spec.targetRef.name'])
})

test('an account that looks after nothing deletes a Pod for what names an owner of it, if that is new', () => {
  const deletedAt = (second: number): readonly Told[] => [
    [5, 'alice', { ...WEB, ...scaled(1, 1), type: 'ADDED' }],
    [6, 'alice', made('ReplicaSet', 'web-1', ownedBy('Deployment', 'web'))],
    [7, 'alice', { ...POD, type: 'ADDED' }],
    ...lookedAfter(10, 'Stall', 'toys', sized('S')),
    [30, 'bob', { kind: 'Stall', name: 'toys', meta: generation(2), rest: { spec: sized('L') } }],
    [second, 'mover', { ...POD, type: 'DELETED' }],
  ]
  expect(read(...deletedAt(34))).toEqual([['toys', 30, 'spec.targetRef.name']])
  expect(decided(...deletedAt(50)).at(-1)?.cause).toBe('operator')
})

const LANE = { kind: 'Lane', name: 'one' }
const LANE_SPEC = { parentRefs: [{ name: 'toys' }], backendRefs: [{ name: 'web' }] }

test('a reference that says what an object is to another, and not its kind, means any kind', () => {
  const begun = lookedAfter(10, 'Lane', 'one', LANE_SPEC)
  const restated: Told = [
    31,
    'stall-program',
    { ...LANE, meta: generation(1), rest: { spec: LANE_SPEC, ...status('found') }, subresource: 'status' },
  ]
  expect(read(...begun, [30, 'bob', made('Service', 'web')], restated)).toEqual([
    ['web', 30, 'spec.backendRefs.name'],
  ])
  expect(read(...begun, [30, 'bob', made('Service', 'other')], restated)).toEqual([])
  // A text may say no more.
  const named = lookedAfter(10, 'Stall', 'toys', { app: 'web' })
  expect(
    read([5, 'alice', { ...WEB, ...scaled(1, 1), type: 'ADDED' }], ...named, [
      ...([31, 'stall-program'] as const),
      { ...WEB, ...scaled(1, 2) },
    ]),
  ).toContainEqual(['toys', 11, 'spec.app'])
})

test('what is written for an owner follows from what names that owner without a kind', () => {
  const map = made('ConfigMap', 'lanes', ownedBy('Stall', 'toys'))
  expect(
    read(
      ...lookedAfter(10, 'Lane', 'zero', {}),
      ...lookedAfter(15, 'Stall', 'toys', {}),
      [17, 'stall-program', map],
      [30, 'bob', { ...made('Lane', 'one', generation(1), { spec: LANE_SPEC }) }],
      [31, 'stall-program', { ...map, type: 'MODIFIED', rest: { data: { lanes: 'one' } } }],
    ),
  ).toContainEqual(['one', 30, 'spec.parentRefs.name'])
})

const SELECTORS = [{ matchLabels: { logs: 'yes' } }, 'logs=yes', 'logs in (yes, all),!off', 'logs,a!=b']
const labelled = (count: number, labels: JsonObject): Write => ({
  ...WEB,
  meta: generation(count, { labels }),
})

test.each(SELECTORS)(
  'what %j selects is changed for who selects it, whose status tells of it',
  (selector) => {
    const spec: JsonObject = { selector }
    const begun: Told[] = [
      [5, 'alice', { ...labelled(1, { logs: 'yes' }), type: 'ADDED' }],
      ...lookedAfter(10, 'Stall', 'toys', spec),
      [12, 'stall-program', labelled(2, { logs: 'yes' })],
      // The program has nothing to do for this.
      [20, 'carol', labelled(3, { logs: 'yes' })],
    ]
    const changed: Told = [
      30,
      'bob',
      { kind: 'Stall', name: 'toys', meta: generation(2), rest: { spec: { ...spec, image: '2' } } },
    ]
    const again: Told = [31, 'stall-program', labelled(4, { logs: 'yes' })]
    expect(read(...begun, changed, again)).toContainEqual(['toys', 30, 'selector'])
    const stated: Told = [
      31,
      'stall-program',
      {
        ...{ kind: 'Stall', name: 'toys', meta: generation(1), subresource: 'status' },
        rest: { spec, ...status('none') },
      },
    ]
    const unlabelled: Told = [30, 'bob', labelled(3, {})]
    expect(read(...begun, unlabelled, stated)).toContainEqual(['web', 30, 'selector'])
    expect(
      read(...begun, [30, 'bob', { kind: 'Service', name: 'other', type: 'ADDED' }], stated),
    ).not.toContainEqual(['other', 30, 'selector'])
  },
)

const QUEUED = { 'trade.example.com/name': 'toys' }
const job = (name: string, count: number, suspend: boolean): Write => ({
  ...{ kind: 'Job', name, meta: generation(count, { labels: QUEUED }) },
  rest: { spec: { suspend } },
})

test('the first write of a program follows from what a label names under its own API group, if that is new', () => {
  const queue = made('Stall', 'toys', generation(1), { spec: { slots: 1 } })
  const begun: Told[] = [[5, 'bob', { ...job('first', 1, true), type: 'ADDED' }]]
  const released: Told = [31, 'stall-program', job('first', 2, false)]
  expect(read(...begun, [30, 'alice', queue], released)).toEqual([
    ['toys', 30, 'labels trade.example.com/name'],
  ])
  expect(decided(...begun, [15, 'alice', queue], released).at(-1)?.cause).toBe('operator')
})

test('what is made follows from its namespace if that is newer than what a label names', () => {
  const queue = made('Stall', 'toys', generation(1), { spec: { slots: 1 } })
  const namespace = made('Namespace', 'shop')
  const web: Told = [31, 'stall-program', made('Deployment', 'web', { labels: QUEUED })]
  expect(read([28, 'bob', namespace], [30, 'alice', queue], web)).toEqual([
    ['toys', 30, 'labels trade.example.com/name'],
  ])
  expect(read([28, 'alice', queue], [30, 'bob', namespace], web)).toContainEqual(['shop', 30, 'namespace'])
})

test('what a label names under its own API group is written for what has the label', () => {
  const begun: Told[] = [
    ...lookedAfter(10, 'Stall', 'toys', { slots: 1 }),
    [15, 'bob', { ...job('first', 1, true), type: 'ADDED' }],
    [16, 'stall-program', job('first', 2, false)],
  ]
  const counted = (second: number, waiting: string): Told => [
    second,
    'stall-program',
    {
      ...{ kind: 'Stall', name: 'toys', meta: generation(1), subresource: 'status' },
      rest: { spec: { slots: 1 }, ...status(waiting) },
    },
  ]
  expect(
    read(
      ...begun,
      counted(17, '0'),
      [30, 'carol', made('Job', 'other', { labels: QUEUED })],
      counted(31, '1'),
    ),
  ).toContainEqual(['other', 30, undefined])
  // A Pod of the second Job ends because the program has suspended that Job. That is nothing new.
  const pod = { kind: 'Pod', name: 'second-a', meta: ownedBy('Job', 'second') }
  expect(
    read(
      ...begun,
      counted(17, '0'),
      [20, 'carol', { ...job('second', 1, false), type: 'ADDED' }],
      [21, 'stall-program', job('second', 2, true)],
      [22, 'stall-program', { ...pod, type: 'ADDED' }],
      [23, 'stall-program', { ...pod, type: 'DELETED' }],
      counted(24, '1'),
      [30, 'alice', { ...job('first', 2, false), type: 'DELETED' }],
      [31, 'stall-program', job('second', 3, false)],
    ),
  ).toContainEqual(['first', 30, 'made for toys'])
})

test('what a program makes is for what a label names under its own API group, before the program is known to look after that', () => {
  expect(
    read(
      [10, 'alice', made('Rule', 'limits', generation(1), { spec: { max: 5 } })],
      ...lookedAfter(15, 'Lane', 'asked', {}),
      [31, 'stall-program', made('ConfigMap', 'made', { labels: { 'trade.example.com/rule': 'limits' } })],
    ),
  ).toEqual([['limits', 10, 'labels trade.example.com/rule']])
})

type Signature = readonly [manager: string, second?: number | undefined, subresource?: string]

const signed = (...entries: Signature[]): JsonObject => ({
  managedFields: entries.map(([manager, second, subresource = '']) => ({
    ...{ manager, operation: 'Update', subresource },
    ...(second !== undefined && {
      time: new Date(START_MS + second * 1_000).toISOString().replace('.000', ''),
    }),
  })),
})

/** Who wrote the last of these and whether that began a change, with a watch alone. */
function byWatch(...told: Told[]): unknown[] {
  const { decisions } = replay(
    told.map((one) => observed(one)[0]),
    ['watch'],
  )
  const { writer, cause } = decisions.at(-1) ?? {}
  return [writer?.service, cause]
}

const stall = (second: number, spec: JsonObject, ...by: Signature[]): Told => [
  second,
  'alice',
  { kind: 'Stall', name: 'toys', meta: { generation: second, ...signed(...by) }, rest: { spec } },
]
const STATED: Signature = ['stall-program', 11, 'status']
/** alice has made an object, and its program has written its status. */
const stated = (spec: JsonObject): Told[] => [
  stall(10, spec, ['kubectl', 10]),
  [
    ...([11, 'stall-program'] as const),
    {
      ...{ kind: 'Stall', name: 'toys', meta: { generation: 10, ...signed(['kubectl', 10], STATED) } },
      rest: { spec, ...status('new') },
    },
  ],
]

test('with a watch alone, whose entry for the scale has no time scales again with the same entry', () => {
  const spec = { scaleTargetRef: { name: 'web' } }
  const web = (second: number, replicas: number, ...by: Signature[]): Told => [
    second,
    '',
    { ...WEB, meta: { generation: second, ...signed(...by) }, rest: { spec: { replicas } } },
  ]
  const begun = [web(5, 1, ['kubectl', 5]), ...stated(spec)]
  const scales: Signature[] = [
    ['stall-program', undefined, 'scale'],
    ['kubectl', 5],
  ]
  expect(byWatch(...begun, web(20, 3, ...scales), web(30, 2, ...scales))).toEqual([
    'stall-program',
    'inferred',
  ])
  // Whoever scales to 0 has no entry.
  const changed = stall(39, { ...spec, max: 0 }, ['kubectl', 39], STATED)
  expect(byWatch(...begun, changed, web(40, 0, ['kubectl', 5]))).toEqual(['stall-program', 'inferred'])
  expect(byWatch(...begun, changed, web(50, 0, ['kubectl', 5]))).toEqual(['unknown', 'operator'])
})

test('with a watch alone, what a program made without an owner it deletes when it acts on something beside it', () => {
  const map = (by: string): Write => ({ kind: 'ConfigMap', name: 'list', meta: signed([by, 12]) })
  const restated: Told = [
    ...([30, ''] as const),
    {
      ...{ kind: 'Stall', name: 'toys' },
      meta: { generation: 10, ...signed(['kubectl', 10], ['stall-program', 30, 'status']) },
      rest: status('over'),
    },
  ]
  const deleted = (second: number, by: string): unknown[] =>
    byWatch(...stated({}), [12, '', { ...map(by), type: 'ADDED' }], restated, [
      second,
      '',
      { ...map(by), type: 'DELETED' },
    ])
  expect(deleted(31, 'stall-program')).toEqual(['stall-program', 'inferred'])
  expect(deleted(40, 'stall-program')).toEqual(['unknown', 'operator'])
  expect(deleted(31, 'kubectl')).toEqual(['unknown', 'operator'])
})

test('with a watch alone, what has gone long ago and is only named makes nobody delete', () => {
  const part: Write = {
    ...{ kind: 'Service', name: 'toys-web' },
    meta: { ...signed(['stall-program', 12]), ...ownedBy('Stall', 'toys') },
  }
  const named: Write = { kind: 'Service', name: 'web', meta: signed(['kubectl', 5]) }
  expect(
    byWatch(
      [5, '', { ...named, type: 'ADDED' }],
      ...stated({ backendRefs: [{ name: 'web' }] }),
      [12, '', { ...part, type: 'ADDED' }],
      [20, '', { ...named, type: 'DELETED' }],
      [40, '', { ...part, type: 'DELETED' }],
    ),
  ).toEqual(['unknown', 'operator'])
})

test('with a watch alone, what a program makes under another name for what somebody has just changed follows from that', () => {
  const labels = { 'trade.example.com/stall': 'toys' }
  const made = (second: number): unknown[] =>
    byWatch(...stated({}), stall(30, { list: 'yes' }, ['kubectl', 30], STATED), [
      second,
      '',
      { type: 'ADDED', kind: 'ConfigMap', name: 'list', meta: { labels, ...signed(['generated', second]) } },
    ])
  expect(made(31)).toEqual(['generated', 'inferred'])
  expect(made(40)).toEqual(['generated', 'operator'])
})

test('that a rollout goes on does not hide what somebody changed of what its program looks after', () => {
  const other = { kind: 'Deployment', name: 'preview' }
  const set = { kind: 'ReplicaSet', name: 'preview-1', meta: ownedBy('Deployment', 'preview') }
  const following = read(
    ...lookedAfter(10, 'Stall', 'toys', { weight: 25 }),
    [12, 'stall-program', { ...other, ...scaled(1, 1), type: 'ADDED' }],
    [13, 'rollouts', { ...set, type: 'ADDED' }],
    [20, 'rollouts', { ...set, rest: status('ready') }],
    [30, 'bob', { kind: 'Stall', name: 'toys', meta: generation(2), rest: { spec: { weight: 50 } } }],
    [31, 'stall-program', { ...other, ...scaled(2, 2) }],
  )
  expect(following).toContainEqual(['toys', 30, 'same API group'])
})

test('a Pod is deleted for what names its Deployment by a plain text, and not for what its Deployment wants', () => {
  const asked = (round: number): JsonObject => ({ deployment: 'web', round })
  const set = made('ReplicaSet', 'web-1', generation(1, ownedBy('Deployment', 'web')), {
    spec: { replicas: 1 },
  })
  const following = read(
    [5, 'alice', { ...WEB, ...scaled(1, 1), type: 'ADDED' }],
    [6, 'alice', set],
    [7, 'alice', { ...POD, type: 'ADDED' }],
    ...lookedAfter(10, 'Stall', 'toys', asked(1)),
    [20, 'bob', { ...WEB, ...scaled(2, 2) }],
    [
      21,
      'bob',
      { ...set, type: 'MODIFIED', meta: { ...set.meta, generation: 2 }, rest: { spec: { replicas: 2 } } },
    ],
    [30, 'carol', { kind: 'Stall', name: 'toys', meta: generation(2), rest: { spec: asked(2) } }],
    [31, 'stall-program', { ...POD, type: 'DELETED' }],
  )
  expect(following).toEqual([['toys', 30, 'spec.deployment']])
})

test('a reference whose words name no kind that is there means any of its API group', () => {
  const following = read(
    [5, 'alice', made('Rule', 'root', generation(1), { spec: { turn: 1 } })],
    ...lookedAfter(10, 'Stall', 'toys', { issuerRef: { name: 'root' } }),
    [15, 'stall-program', made('ConfigMap', 'list', ownedBy('Stall', 'toys'))],
    [30, 'bob', { kind: 'Rule', name: 'root', meta: generation(2), rest: { spec: { turn: 2 } } }],
    [
      31,
      'stall-program',
      {
        ...made('ConfigMap', 'list', ownedBy('Stall', 'toys')),
        type: 'MODIFIED',
        rest: { data: { turn: '2' } },
      },
    ],
  )
  expect(following).toContainEqual(['root', 30, 'spec.issuerRef.name'])
})

test('with a watch alone, what takes settings or is in a namespace follows from these where somebody has just changed them', () => {
  const spec = {
    template: { spec: { containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'load' } }] }] } },
  }
  const web = (second: number, annotated: string, by: readonly [string, number]): Told => [
    second,
    '',
    {
      ...{ kind: 'Deployment', name: 'web' },
      meta: generation(annotated === '' ? 1 : 2, signed(['kubectl', 5], by)),
      rest: { spec: { ...spec, paused: annotated !== '' } },
    },
  ]
  const load: Told = [
    30,
    '',
    { kind: 'ConfigMap', name: 'load', meta: signed(['kubectl', 30]), rest: { data: { a: '2' } } },
  ]
  const rolledOut = (second: number): unknown[] =>
    byWatch(
      [4, '', made('ConfigMap', 'load', signed(['kubectl', 4]))],
      web(5, '', ['kubectl', 5]),
      load,
      web(second, 'yes', ['reloader', second]),
    )
  expect(rolledOut(31)).toEqual(['reloader', 'inferred'])
  expect(rolledOut(45)).toEqual(['reloader', 'operator'])
})

test('the first write of a program follows from what a recommended label names, if that is new and nobody looks after it', () => {
  const labels = { 'app.kubernetes.io/instance': 'toys' }
  const stall: Told = [30, 'alice', made('Stall', 'toys', generation(1), { spec: { size: 1 } })]
  const list = (second: number, by = 'stall-program'): Told => [
    second,
    by,
    made('ConfigMap', 'list', { labels }),
  ]
  expect(read(stall, list(31))).toEqual([['toys', 30, 'labels app.kubernetes.io/instance']])
  expect(decided(stall, list(60)).at(-1)?.cause).toBe('operator')
  // Another program looks after it.
  expect(read(...lookedAfter(20, 'Stall', 'others', {}), stall, list(31, 'pipeline'))).toEqual([])
})
