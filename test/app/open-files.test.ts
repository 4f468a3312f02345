import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { fitQuotas, openFilesLimit } from '../../src/platform/open-files.ts'

/** So many a listener may have open beyond those with a request under way, and as many at most as with one. */
const SPARE = 64
const filesFor = (places: readonly { max: number }[]): number =>
  places.reduce((sum, { max }) => sum + max + Math.min(SPARE, max), 0)

const RECEIVER = { max: 1024, maxPerAddress: 256 }
const PROBED = { max: 64, maxPerAddress: 32 }
const DELIVERED = [RECEIVER, RECEIVER, { max: 256, maxPerAddress: 64 }, PROBED, PROBED]

test('where there are descriptors enough everything is as configured', () => {
  expect(fitQuotas(DELIVERED, 8192)).toEqual({ quotas: DELIVERED, warning: undefined })
  expect(fitQuotas(DELIVERED, undefined)).toEqual({ quotas: DELIVERED, warning: undefined })
})

test('where there are too few listeners share what Causeway does not need itself, and it is told what would be enough', () => {
  const { quotas: places, warning } = fitQuotas(DELIVERED, 1024)
  expect(places[0]).toEqual(places[1])
  expect(places[0]!.max).toBeGreaterThan(250)
  expect(places[0]!.maxPerAddress).toBe(Math.floor(places[0]!.max / 4))
  expect(warning).toBe(
    'this process may have 1024 files open, too few for the 2752 connections that the configuration allows: ' +
      `all listeners together accept ${filesFor(places)} until it may have 2842 (ulimit -n, LimitNOFILE)`,
  )
})

test('whatever the limit is, connections leave descriptors to Causeway, and every listener has places', () => {
  const configured = fc.array(
    fc.record({ max: fc.integer({ min: 1, max: 5_000 }), maxPerAddress: fc.integer({ min: 1, max: 5_000 }) }),
    { minLength: 1, maxLength: 8 },
  )
  fc.assert(
    fc.property(configured, fc.integer({ min: 160, max: 20_000 }), (wanted, openFiles) => {
      const { quotas: places } = fitQuotas(wanted, openFiles)
      expect(filesFor(places)).toBeLessThanOrEqual(openFiles - 90)
      places.forEach(({ max, maxPerAddress }, at) => {
        expect(max).toBeGreaterThanOrEqual(Math.min(4, wanted[at]!.max))
        expect(max).toBeLessThanOrEqual(wanted[at]!.max)
        expect(maxPerAddress).toBeGreaterThanOrEqual(1)
      })
    }),
  )
})

test('the limit of this process is known', () => {
  expect(openFilesLimit()).toBeGreaterThan(0)
})
