import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { CPID, informed, version, type Version } from './support/informed.ts'
import { startSdk } from './support/start-sdk.ts'

interface Wanted {
  readonly replicas?: number
  readonly images?: readonly [first: string, second: string]
  readonly paused?: true
}

const MARKS = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' }

/** A version by a change; its controller has acted on none of them. */
function made(change: number, { replicas = 1, images = ['a:1', 'b:1'], ...more }: Wanted, by = cpid(change)) {
  const annotations = { ...MARKS, [CPID]: by, 'causeway.io/ancestor-cpids': cpid(90 + change) }
  const containers = images.map((image) => ({ name: image.split(':')[0], image }))
  return {
    ...version(String(change), { generation: change, annotations, managedFields: [] }),
    spec: { replicas, containers, ...more },
    status: { observedGeneration: 0 },
  }
}

/** By which changes a reconcile works that is woken by these versions, before its controller has acted on any. */
async function causesOf(...versions: Version[]): Promise<string[]> {
  await using sdk = startSdk()
  const { plain, cluster } = informed()
  const reconcile = cluster.reconciler('reconcile', async () => {
    throw new Error('it is only looked at what it read')
  })
  versions.forEach((each, at) => reconcile.wokenBy('web', plain.tell(at === 0 ? 'add' : 'update', each)))
  await reconcile('web').catch(() => undefined)
  const [span] = sdk.spans().filter(({ name }) => name === 'reconcile')
  const observed = (span?.attributes['cpid.observed'] as string[] | undefined) ?? []
  return observed.map((reference) => reference.split('rv=')[1] ?? '').sort()
}

test('a change that another overwrites is a cause as long as something of it is left', async () => {
  expect(await causesOf(made(1, {}), made(2, { replicas: 2 }), made(3, { replicas: 3 }))).toEqual(['1', '3'])
  const scaled = made(2, { replicas: 2 })
  expect(await causesOf(made(1, {}), scaled, made(3, { replicas: 2, images: ['a:2', 'b:1'] }))).toEqual([
    ...['1', '2', '3'],
  ])
  // Whichever container stands first, an image is that of its name.
  const renewed = made(2, { images: ['a:2', 'b:2'] })
  const other = made(3, { images: ['b:3', 'a:2'] })
  expect(await causesOf(made(1, {}), renewed, other)).toEqual(['1', '2', '3'])
  expect(await causesOf(made(1, {}), renewed, made(3, { images: ['b:3', 'a:3'] }))).toEqual(['1', '3'])
})

test('what was taken away is left as long as it is not there again', async () => {
  const [paused, resumed] = [made(1, { paused: true }), made(2, {})]
  expect(await causesOf(paused, resumed, made(3, { replicas: 3 }))).toEqual(['1', '2', '3'])
  expect(await causesOf(paused, resumed, made(3, { replicas: 3, paused: true }))).toEqual(['1', '3'])
})

test('each of several changes counts by what the newest version says, and a status changes nothing of that', async () => {
  const [first, second] = [made(2, { replicas: 2 }), made(3, { replicas: 2, images: ['a:2', 'b:1'] })]
  const withStatus = { ...second, status: { observedGeneration: 0, replicas: 1 } }
  const later = { ...withStatus, metadata: { ...second.metadata, resourceVersion: '4' } }
  const last = made(5, { replicas: 5, images: ['a:2', 'b:1'] })
  expect(await causesOf(made(1, {}), first, second, later, last)).toEqual(['1', '4', '5'])
  const all = made(5, { replicas: 5, images: ['a:5', 'b:1'] })
  expect(await causesOf(made(1, {}), first, second, later, all)).toEqual(['1', '5'])
})
