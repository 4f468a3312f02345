import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import {
  factsOf,
  isByAnother,
  isByMarker,
} from '../../packages/instrumentation/src/kubernetes/version-facts.ts'
import { cpid } from '../support/otlp-requests.ts'
import { startSdk } from './support/start-sdk.ts'

const CPID_KEY = 'causeway.io/cpid'
const STORM = 1_000

test('a storm of conflicts is one change, told once', async () => {
  await using sdk = startSdk()
  const { write } = createInstrumentation()
  const object = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { namespace: 'default', name: 'settings', uid: 'u1', resourceVersion: '7' },
  }
  const causes = [1, 2].map((number) => ({ cpid: cpid(number), ancestors: [] }))
  const conflict = Object.assign(new Error('it was changed'), { code: 409 })
  const attempted = new Set<unknown>()
  for (let tries = 0; tries <= STORM; tries++) {
    const attempt = write(
      object,
      (marked) => {
        attempted.add((marked.metadata as { annotations?: Record<string, string> }).annotations?.[CPID_KEY])
        return tries < STORM ? Promise.reject(conflict) : Promise.resolve(marked)
      },
      { causes, name: 'update v1/configmaps' },
    )
    await (tries < STORM ? expect(attempt).rejects.toBe(conflict) : attempt)
  }
  expect(attempted.size).toBe(1)
  expect(sdk.records().map(({ attributes }) => attributes['cpid.new'])).toEqual([...attempted])
})

const entry = fc.record(
  {
    manager: fc.oneof(fc.constantFrom('kubectl', 'operator'), fc.anything()),
    operation: fc.constantFrom('Update', 'Apply', 7),
    // Clocks of API servers differ, and go back; anybody may have written what stands here.
    time: fc.oneof(
      fc.constantFrom('2026-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'),
      fc.anything(),
    ),
    fieldsV1: fc.oneof(
      fc.constantFrom({ 'f:spec': {} }, { 'f:metadata': { 'f:annotations': { [`f:${CPID_KEY}`]: {} } } }),
      fc.anything(),
    ),
  },
  { requiredKeys: [] },
)
const version = fc.record(
  {
    generation: fc.oneof(fc.integer({ min: -1, max: 3 }), fc.anything()),
    resourceVersion: fc.oneof(fc.constantFrom('7', '8', '', '18446744073709551616'), fc.string()),
    annotations: fc.oneof(fc.record({ [CPID_KEY]: fc.constantFrom(cpid(1), cpid(2)) }), fc.anything()),
    managedFields: fc.oneof(fc.array(entry, { maxLength: 3 }), fc.anything()),
    ownerReferences: fc.anything(),
  },
  { requiredKeys: [] },
)

test('whatever stands in versions is looked at, and one that carries a new CPID is of whoever wrote that', () => {
  fc.assert(
    fc.property(version, version, (one, next) => {
      const [before, now] = [one, next].map((metadata) => factsOf({ metadata } as object, CPID_KEY))
      if (before === undefined || now === undefined) throw new Error('no facts')
      isByAnother(undefined, now)
      isByMarker(before, now)
      if (now.cpid !== undefined && now.cpid !== before.cpid) expect(isByAnother(before, now)).toBe(false)
      else isByAnother(before, now)
    }),
    { numRuns: 2_000 },
  )
})
