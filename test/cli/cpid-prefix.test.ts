import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Cpid, parseCpid } from '../../src/model/merge-graph.ts'
import { TestWriter } from '../support/test-writer.ts'
import { Cli } from './cli.ts'

const cli = new Cli()
let writer: TestWriter
/** Few digits, so that many begin alike; drawn once, from a seed. */
const [stored = []] = fc
  .sample(
    fc.uniqueArray(
      fc
        .tuple(
          fc.constantFrom('00000000', '0000000f', 'ffffffff', 'dfd6a0d7'),
          fc.array(fc.constantFrom('0', 'f'), { minLength: 24, maxLength: 24 }),
        )
        .map(([head, tail]) => parseCpid(head + tail.join('')) ?? parseCpid('1'.repeat(32))),
      { minLength: 40, maxLength: 40 },
    ),
    { numRuns: 1, seed: 22 },
  )
  .map((cpids) => cpids.filter((cpid) => cpid !== undefined))

beforeAll(async () => {
  await cli.run('migrate')
  writer = await TestWriter.open({}, cli.path)
  writer.mergelogs(
    'paper',
    stored.map((cpid, at) => ({ new: cpid, time: at + 1 })),
  )
  writer.spans(
    'paper',
    stored.map((cpid, at) => ({ trace: at + 1, id: at + 1, cpid })),
  )
  writer.link()
})
afterAll(() => {
  writer[Symbol.dispose]()
  cli[Symbol.dispose]()
})

const digitsOf = (cpid: Cpid): string => cpid.replaceAll('-', '')

const beginnings = fc
  .tuple(
    fc.constantFrom(...stored),
    fc.integer({ min: 8, max: 32 }),
    fc.boolean(),
    fc.boolean(),
    fc.boolean(),
  )
  .map(([cpid, digits, isDashed, isUpper, isOther]) => {
    let left = digits
    const cut = Array.from(cpid)
      .filter((letter) => (letter === '-' ? left > 0 : left-- > 0))
      .join('')
    const text = isDashed ? cut : cut.replaceAll('-', '')
    const written = isOther ? `${text.slice(0, -1)}7` : text
    return isUpper ? written.toUpperCase() : written
  })

test('what a CPID begins with stands for it, or is answered with those that it may be', async () => {
  await fc.assert(
    fc.asyncProperty(
      beginnings,
      fc.constantFrom('related', 'mergelogs', 'cascade'),
      async (written, command) => {
        const digits = written.toLowerCase().replaceAll('-', '')
        const meant = stored.filter((cpid) => digitsOf(cpid).startsWith(digits)).toSorted()
        const { code, stdout, stderr } = await cli.run(command, written)
        if (meant.length === 1) {
          expect([code, stderr]).toEqual([0, ''])
          expect(stdout).toContain(meant[0])
          return
        }
        expect([code, stdout]).toEqual([1, ''])
        const named = stderr.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
        if (meant.length === 0) {
          expect(stderr).toMatch(
            /^Error: no mergelog, span or log has named (a CPID that begins with|CPID) .*; check it, .*\n$/,
          )
        } else {
          expect(stderr).toMatch(
            /^Error: several CPIDs begin with .*; write more digits of the one you mean\n$/,
          )
          expect(named).toEqual(meant.slice(0, 8))
          expect(stderr.includes(' and others;')).toBe(meant.length > 8)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test.each(['dfd6a0d', 'dfd6-a0d7', 'dfd6a0d7--', '-dfd6a0d7', 'dfd6a0g7', '0'.repeat(32), '0'.repeat(33)])(
  '%s is no beginning of a CPID',
  async (written) => {
    expect(await cli.runBare('related', '--config', cli.config, '--', written)).toMatchObject({ code: 2 })
  },
)

test('it is one bounded range of an index', () => {
  const plan = writer.db
    .prepare('EXPLAIN QUERY PLAN SELECT text FROM cpids WHERE text >= ? AND text < ? ORDER BY text LIMIT ?')
    .all('a', 'b', 9)
  expect(plan).toEqual([
    expect.objectContaining({
      detail: expect.stringMatching(/^SEARCH cpids USING .*INDEX cpids_by_text \(/),
    }),
  ])
})
