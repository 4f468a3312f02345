import { afterEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  DEPLOYED,
  MADE,
  OPERATOR,
  OVER_MS,
  referenceOf,
  ROOT,
  rootOf,
  SPAN,
  type Version,
  Watched,
} from '../support/watched-cluster.ts'

const SCALER = { user: 'system:scaler', userAgent: 'scaler/v1' }

/** A version that somebody makes whom the operator does not know. */
const scaledTo = (version: number): Version => ({
  ...{ ...DEPLOYED, version, verb: 'update', generation: version, actor: SCALER },
})

/** A deployment of which the operator told, and whose next writer it does not know. */
async function deployed(): Promise<Watched> {
  const watched = await Watched.open()
  watched.make(MADE)
  watched.make(DEPLOYED)
  watched.tell(OPERATOR, SPAN, 0, [referenceOf(DEPLOYED)])
  watched.pass(4_000)
  return watched
}

/** The operator tells of a version that another made, as a change that it begins for that. */
function tellOfAnother(watched: Watched, made: Version, afterMs: number): void {
  const begun = rootOf('deployments', made.version)
  watched.witness(OPERATOR, { name: 'write apps/v1/deployments', cpid: begun }, afterMs, referenceOf(made))
  watched.mergelog(OPERATOR, begun, [], referenceOf(made), afterMs)
}

let open: Watched | undefined
afterEach(() => {
  open?.[Symbol.dispose]()
  open = undefined
})

describe('a change that a program began for a write that is not decided about', () => {
  const scaled = scaledTo(12)
  const begun = rootOf('deployments', 12)

  test('is the change that the write is of, though Causeway is killed before it decides', async () => {
    open = await deployed()
    open.make(scaled)
    tellOfAnother(open, scaled, 0)
    open.pass(500)
    expect(open.hasMergelog(begun)).toBe(false)
    open.kill()
    open.pass(OVER_MS)
    expect(open.hasMergelog(begun)).toBe(true)
    expect(open.shown()['deployments 12']).toEqual(['scaler'])
    expect(open.rootsOf('deployments', 12)).toEqual([ROOT])
  })

  test('is recorded as it was told, where the watch never tells of the version', async () => {
    open = await deployed()
    open.make(scaled, Infinity, Infinity)
    tellOfAnother(open, scaled, 0)
    open.pass(OVER_MS)
    expect(open.hasMergelog(begun)).toBe(true)
    expect(open.shown()['deployments 12']).toEqual([OPERATOR])
    expect(open.rootsOf('deployments', 12)).toEqual([begun])
  })

  test('holds no more than so many, and records the others as they were told', async () => {
    open = await deployed()
    const versions = Array.from({ length: 10_020 }, (_, at) => 100 + at)
    const told = versions.map((version) => ({
      ...{ new: rootOf('deployments', version), sources: [], reason: 'unattributed writer' },
      object: referenceOf({ resource: 'deployments', version }),
    }))
    open.writer.mergelogs(OPERATOR, told, 'test')
    expect(open.writer.rows('held_items')).toBe(10_000)
    expect(told.filter(({ new: cpidOf }) => open?.hasMergelog(cpidOf)).length).toBe(20)
    open.pass(OVER_MS)
    expect(open.writer.rows('held_items')).toBe(0)
    expect(told.every(({ new: cpidOf }) => open?.hasMergelog(cpidOf))).toBe(true)
  })
})

interface Step {
  readonly isToldByWatch: boolean
  readonly auditedMs: number
  readonly toldMs: number
  readonly isKilled: boolean
}

/** A watch tells of the versions of an object in their order. */
const watchedLater = fc.integer({ min: 0, max: 1_500 })
const step = fc.record<Step>({
  isToldByWatch: fc.boolean(),
  auditedMs: fc.integer({ min: 0, max: 1_500 }),
  toldMs: fc.integer({ min: 0, max: 4_000 }),
  isKilled: fc.boolean(),
})

test('nothing that was acknowledged is lost, whenever Causeway is killed and whatever the watch leaves out', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      watchedLater,
      async (steps, watchedMs) => {
        using watched = await deployed()
        for (const [at, { isToldByWatch, auditedMs, toldMs }] of steps.entries()) {
          const made = scaledTo(20 + at)
          if (isToldByWatch) watched.make(made, watchedMs, auditedMs)
          tellOfAnother(watched, made, toldMs)
          watched.pass(500)
          if (steps[at]?.isKilled === true) watched.kill()
        }
        watched.pass(OVER_MS)
        const shown = watched.shown()
        for (const [at, { isToldByWatch }] of steps.entries()) {
          const version = 20 + at
          const begun = rootOf('deployments', version)
          expect(watched.hasMergelog(begun)).toBe(true)
          expect(shown[`deployments ${version}`]).toEqual([isToldByWatch ? 'scaler' : OPERATOR])
          expect(watched.rootsOf('deployments', version)).toEqual([isToldByWatch ? ROOT : begun])
        }
        expect(watched.writer.rows('held_items')).toBe(0)
      },
    ),
    { numRuns: 40 },
  )
}, 120_000)
