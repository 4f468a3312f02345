import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid } from '../support/otlp-requests.ts'
import { byKubectl, byOperator, informed, marked, rootOf, version, type Version } from './support/informed.ts'

/** A person writes the spec, the operator acts on it and says so, or says something else in the status. */
const steps = fc.array(fc.constantFrom('write' as const, 'act' as const, 'report' as const), { maxLength: 8 })

/** Many kinds say in their conditions alone which generation was acted on, and one that stands still is behind. */
const places = {
  status: (observedGeneration: number) => ({ observedGeneration }),
  conditions: (observedGeneration: number) => ({
    conditions: [{ observedGeneration: 1 }, { observedGeneration }, {}],
  }),
}

function livedThrough(
  life: readonly ('write' | 'act' | 'report')[],
  more: object,
  place: keyof typeof places,
): { version: Version; isActedOn: boolean }[] {
  let [generation, observedGeneration] = [0, 0]
  return ['write' as const, ...life].map((step, at) => {
    if (step === 'write') generation++
    if (step === 'act') observedGeneration = generation
    const status = observedGeneration === 0 ? {} : places[place](observedGeneration)
    const written = { ...version(String(at + 1), { generation, ...more }), status }
    return { version: written, isActedOn: observedGeneration === generation }
  })
}

test('an operator that starts anew begins a change for what somebody wrote, and none for a status that it wrote itself', () => {
  // Whoever has added a finalizer has marked the object with the change of that time.
  const unmarked = { more: {}, carried: undefined }
  const patched = { ...marked, managedFields: [byOperator(1), byKubectl(2)] }
  const ofOperator = fc.constantFrom(unmarked, { more: patched, carried: cpid(1) })
  const ofPlace = fc.constantFrom('status' as const, 'conditions' as const)
  fc.assert(
    fc.property(steps, fc.nat(8), ofOperator, ofPlace, (life, start, { more, carried }, place) => {
      const versions = livedThrough(life, more, place)
      const seen = versions.slice(Math.min(start, versions.length - 1))
      const { plain, contextOf } = informed()
      let [expected, generation] = [carried, 0]
      for (const [at, { version: one, isActedOn }] of seen.entries()) {
        plain.tell(at === 0 ? 'add' : 'update', one)
        const { generation: now = 0, resourceVersion } = one.metadata
        if (now > generation && !(at === 0 && isActedOn)) expected = rootOf(resourceVersion)
        generation = now
        expect(contextOf(one)).toBe(expected)
      }
    }),
  )
})

test('what another controller acted on is its change still, where it is what this one made', () => {
  const { plain, contextOf } = informed()
  const owned = { ...marked, ownerReferences: [{ uid: 'x', controller: true }] }
  const scaled = version('9', { ...owned, managedFields: [byOperator(1), byKubectl(2)] })
  expect(contextOf(plain.tell('add', { ...scaled, status: { observedGeneration: 1 } }))).toBe(rootOf('9'))
})
