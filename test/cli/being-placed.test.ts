import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Cascade, Span } from '../../src/query/answer-schemas.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { Cli } from './cli.ts'

const DEPLOYMENT = 'apps/v1/deployments/default/web'
const REPLICA_SET = 'apps/v1/replicasets/default/web'
const WAIT_MS = 10_000

let cli: Cli
let writer: TestWriter

/** A reconcile that observed a version whose writer is not known, with a write inside it and what follows from that. */
beforeEach(async () => {
  cli = new Cli()
  cli.env = { COLUMNS: '160' }
  await cli.run('migrate')
  writer = await TestWriter.open({}, cli.path)
  writer.mergelogs('kubectl', [{ new: cpid(1), object: DEPLOYMENT }])
  writer.spans('kubectl', [
    span(1, { cpid: cpid(1), name: 'apply', start: 0, end: 20, attributes: wrote(`${DEPLOYMENT}?rv=1`) }),
  ])
  writer.mergelogs('operator', [{ new: cpid(2), sources: [cpid(1)], time: 60, object: DEPLOYMENT }])
  writer.link()
  writer.spans('operator', [
    span(22, {
      trace: 2,
      parent: 2,
      cpid: cpid(2),
      name: 'PUT',
      start: 70,
      end: 90,
      attributes: wrote(`${REPLICA_SET}?rv=3`),
    }),
    span(23, { trace: 2, parent: 2, name: 'admit', start: 65, end: 68 }),
    span(2, {
      trace: 2,
      cpid: cpid(2),
      name: 'reconcile',
      start: 60,
      end: 100,
      attributes: observed(`${DEPLOYMENT}?rv=2`),
    }),
  ])
  writer.spans('controller', [
    span(3, {
      trace: 3,
      cpid: cpid(2),
      name: 'follow',
      start: 120,
      end: 150,
      attributes: observed(`${REPLICA_SET}?rv=3`),
    }),
  ])
  writer.link()
})

afterEach(() => {
  writer[Symbol.dispose]()
  cli[Symbol.dispose]()
})

const span = (id: number, rest: object) => ({ trace: 1, id, ...rest })
const wrote = (reference: string) => ({ 'cpid.wrote': [reference] })
const observed = (reference: string) => ({ 'cpid.observed': [reference] })

async function cascade(): Promise<Cascade> {
  const { cascades } = (await cli.json('cascade', cpid(1))) as { cascades: Cascade[] }
  const [found] = cascades
  if (found === undefined) throw new Error('there is no cascade')
  return found
}

const treeOf = ({ traces }: Cascade): string[] =>
  (traces[0]?.spans ?? []).map(
    (one) => `${'  '.repeat(one.depth)}${one.name}${one.beingPlaced === true ? ' …' : ''}`,
  )
const named = ({ traces }: Cascade, name: string): Span | undefined =>
  traces[0]?.spans.find((one) => one.name === name)

async function treeText(): Promise<string> {
  const { stdout } = await cli.run('cascade', cpid(1))
  return stdout.split(/main trace .*\n/)[1]?.split('\n\n')[0] ?? ''
}

const TREE = [
  'change apps/v1/deployments',
  '  apply',
  '  merge',
  '    reconcile …',
  '      admit …',
  '      PUT',
  '        follow',
]

test('a span that waits is in the tree with what is below it, and is said to be being placed', async () => {
  const waits = await cascade()
  expect(treeOf(waits)).toEqual(TREE)
  expect(waits.traces[0]?.spans.filter(({ parentMissing }) => parentMissing)).toEqual([])
  const text = await treeText()
  expect(text).toMatch(/^ {4}reconcile \[being placed\] {2,}operator {2,}60ms {2,}40ms/m)
  expect(text).toMatch(/^ {6}admit \[being placed\] /m)
  expect(text).toMatch(/^ {6}PUT {2,}operator/m)
  expect(text).toMatch(/\nbeing placed: it waits for what it follows from; no figure counts it/)
  expect(text).not.toContain('not here')
})

test('no figure counts it, and the critical path leads past it and what is below it', async () => {
  const { criticalPath, timePerService, timePerKind, spans } = await cascade()
  expect(criticalPath.steps.map(({ name }) => name)).toEqual(['change apps/v1/deployments', 'apply'])
  expect(criticalPath.durationMs).toBe(20)
  expect(timePerService.map(({ service, totalMs }) => [service, totalMs])).toEqual([
    ['controller', 30],
    ['kubectl', 20],
    ['operator', 20],
  ])
  expect(timePerKind.map(({ kind, totalMs }) => [kind, totalMs])).toEqual([
    ['apps/v1/replicasets', 50],
    ['apps/v1/deployments', 20],
  ])
  expect(spans).toBe(3)
})

test('once it is placed all is as ever', async () => {
  writer.spans('kubectl', [
    span(4, { cpid: cpid(1), name: 'label', start: 30, end: 40, attributes: wrote(`${DEPLOYMENT}?rv=2`) }),
  ])
  writer.link()
  const placed = await cascade()
  expect(treeOf(placed)).toEqual([
    'change apps/v1/deployments',
    '  apply',
    '  merge',
    '  label',
    '    reconcile',
    '      admit',
    '      PUT',
    '        follow',
  ])
  expect(named(placed, 'reconcile')).toMatchObject({ waitMs: 20, selfMs: 17, critical: true })
  expect(placed.criticalPath.steps.at(-1)?.name).toBe('follow')
  expect(placed.criticalPath.durationMs).toBe(150)
  expect(await treeText()).not.toContain('being placed')
})

test('given up waiting, it is placed too', async () => {
  writer.pass(WAIT_MS + 1)
  const placed = await cascade()
  expect(treeOf(placed)).toEqual([
    'change apps/v1/deployments',
    '  apply',
    '    reconcile',
    '      admit',
    '      PUT',
    '        follow',
    '  merge',
  ])
  expect(placed.criticalPath.durationMs).toBe(150)
})

test('a parent that has not come is not here, however long that is', async () => {
  writer.spans('operator', [
    span(32, { trace: 5, parent: 31, cpid: cpid(2), name: 'orphan', start: 160, end: 170 }),
  ])
  for (const ms of [0, WAIT_MS + 1]) {
    writer.pass(ms)
    expect(named(await cascade(), 'orphan')).toMatchObject({ parentMissing: true, depth: 0 })
    expect(named(await cascade(), 'orphan')).not.toHaveProperty('beingPlaced')
    expect(await treeText()).toMatch(/^orphan \[its parent is missing\] /m)
  }
})

test('a parent of another CPID is shown where its child is, until it has its own place', async () => {
  writer.mergelogs('operator', [{ new: cpid(9), time: 200 }])
  writer.spans('operator', [
    span(42, { trace: 6, parent: 41, cpid: cpid(2), name: 'write', start: 210, end: 220 }),
    span(41, {
      trace: 6,
      cpid: cpid(9),
      name: 'resync',
      start: 205,
      end: 230,
      attributes: observed('v1/nodes/a?rv=7'),
    }),
  ])
  writer.link()
  expect(treeOf(await cascade()).slice(-2)).toEqual(['resync …', '  write'])
  const own = (await cli.json('cascade', cpid(9))) as { cascades: Cascade[] }
  expect(treeOf(own.cascades[0] as Cascade)).toEqual(['change', '  resync …'])
  writer.pass(WAIT_MS + 1)
  expect(treeOf(await cascade()).slice(-2)).toEqual(['    resync', '      write'])
})
