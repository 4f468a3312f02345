import { expect, test } from '@jest/globals'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import { serializeObservations } from '../../src/model/kubernetes-observations.ts'
import { cpid } from '../support/otlp-requests.ts'
import { ALL_GRANTS, type TestSettings, TestWriter } from '../support/test-writer.ts'

const OTHERS = cpid(1)
const OWN = cpid(2)
const NOBODYS = cpid(3)

/** Of which change a ConfigMap of the cluster `test` is that says it is of this one. */
async function joined(said: string, settings: TestSettings): Promise<string | undefined> {
  using writer = await TestWriter.open(settings)
  writer.mergelogs('theirs', [{ new: OTHERS }], 'other')
  writer.mergelogs('ours', [{ new: OWN }], 'test')
  const { inference } = writer.writer
  while (inference.infer(100));
  const annotations: JsonObject = { 'causeway.io/cpid': said }
  const metadata = { name: 'said', namespace: 'shop', uid: 'u1', resourceVersion: '5', annotations }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  const read = readWatchEvent({ type: 'ADDED', object }, BigInt(writer.clock.wallMs()) * 1_000_000n)
  if (typeof read === 'string') throw new Error(read)
  inference.record([{ cluster: 'test', stream: 'watch', body: serializeObservations([read]) }])
  writer.clock.advance(5_000)
  while (inference.infer(100));
  return writer.db
    .prepare<[], string>('SELECT c.text FROM spans s JOIN cpids c ON c.id = s.cpid')
    .pluck()
    .get()
}

test('an object is of the change that its annotation says, whosever that is', async () => {
  for (const said of [OTHERS, OWN, NOBODYS]) expect(await joined(said, {})).toBe(said)
  const senders = { rules: [], otherwise: ALL_GRANTS }
  expect(await joined(OTHERS, { senders })).toBe(OTHERS)
})

test('where senders may join changes of their own cluster alone, objects may too', async () => {
  const senders = { rules: [], otherwise: { ...ALL_GRANTS, join: 'own' as const } }
  expect(await joined(OWN, { senders })).toBe(OWN)
  expect(await joined(NOBODYS, { senders })).toBe(NOBODYS)
  const other = await joined(OTHERS, { senders })
  expect(other).toMatch(/^[0-9a-f]{8}-/)
  expect(other).not.toBe(OTHERS)
})
