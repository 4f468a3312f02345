import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { foldStatusWrites } from '../../src/cli/cascade-command.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { LinkedSpan } from '../../src/model/queries.ts'
import type { Cascade, CascadeList, Span } from '../../src/query/answer-schemas.ts'
import { spanTree, type TreeSpan } from '../../src/query/span-tree.ts'
import { linkedSpan } from '../query/linked-span.ts'
import { cpid } from '../support/otlp-requests.ts'
import { liveThroughRollout } from '../support/recorded-rollout.ts'
import type { TestWriter } from '../support/test-writer.ts'
import { Cli } from './cli.ts'

const cli = new Cli()
let writer: TestWriter
let decisions: readonly Decision[]

beforeAll(async () => {
  await cli.run('migrate')
  const lived = await liveThroughRollout({ path: cli.path })
  writer = lived.writer
  decisions = lived.decisions
  cli.env = { COLUMNS: '160' }
})

afterAll(() => {
  writer[Symbol.dispose]()
  cli[Symbol.dispose]()
})

const rootOf = (version: bigint): string =>
  decisions.find(({ write }) => write.version === version)?.cpid ?? ''

const DEPLOYED = 379n

async function spansOf(root: string): Promise<readonly Span[]> {
  const { cascades } = (await cli.json('cascade', root)) as { cascades: Cascade[] }
  return cascades[0]?.traces[0]?.spans ?? []
}

test('a cascade says who began it and why each write was made, and folds writes of a status alone', async () => {
  const { stdout } = await cli.run('cascade', rootOf(DEPLOYED))
  const [heading = '', tree = ''] = stdout.split(/main trace .*\n/)
  expect(heading).toContain('  begun by       alice (kubectl)\n')
  const lines = (tree.split('\n\n')[0] ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/ {2,}[\d.]+(ns|µs|ms|s) .*$/, '').replaceAll(/(?<=\S) {2,}/g, ' by '))
  expect(lines.slice(0, 3)).toEqual([
    'change apps/v1/deployments by kubectl',
    '  create apps/v1/deployments by alice (kubectl)',
    '    create apps/v1/replicasets ~ by deployment-controller',
  ])
  const spans = await spansOf(rootOf(DEPLOYED))
  const isStatus = (name: string): boolean => name.startsWith('update ') && name.endsWith(' status')
  const shown = lines.flatMap((line) => /^ *(.*?)(?: ~)? by /.exec(line)?.[1] ?? [])
  const others = shown.filter((name) => !isStatus(name) && !name.startsWith('…'))
  expect(others.sort()).toEqual(spans.flatMap(({ name }) => (isStatus(name) ? [] : [name])).sort())
  const counts = shown.flatMap((name) => /^… (\d+) status updates$/.exec(name)?.[1] ?? []).map(Number)
  expect(counts.length).toBeGreaterThan(1)
  const folded = counts.reduce((sum, many) => sum + many, 0)
  const single = shown.filter(isStatus).length
  expect(folded + single).toBe(spans.filter(({ name }) => isStatus(name)).length)
  expect(lines.slice(-2)).toEqual([
    `… ${folded} status updates in lines of several; --all shows each`,
    '~ is inferred: it follows from the newest versions that its writer could have read',
  ])
})

test('with --all each write has its line, and JSON has all of them anyway', async () => {
  const root = rootOf(DEPLOYED)
  const spans = await spansOf(root)
  const updates = spans.filter(({ name }) => name.endsWith(' status')).length
  expect(updates).toBeGreaterThan(5)
  const { stdout } = await cli.run('cascade', root, '--all')
  expect(stdout.split('critical path')[0]?.match(/^ +update \S+ status/gm)).toHaveLength(updates)
  expect(stdout).not.toContain('status updates')
})

test('cascades of an actor and in a namespace, with who began each', async () => {
  const { stdout } = await cli.run('cascades', '--actor', 'alice', '--namespace', 'shop')
  const lines = stdout.trimEnd().split('\n').slice(1)
  expect(lines.length).toBeGreaterThan(2)
  for (const line of lines) expect(line).toMatch(/ {2}\S+ \(\S+\) {2,}(\S+\/shop\/\S+|v1\/namespaces\/shop)$/)
  const { cascades } = (await cli.json('cascades', '--actor', 'alice', '--namespace', 'shop')) as CascadeList
  expect(lines.map((line) => line.slice(0, 36))).toEqual(cascades.map(({ root }) => root))
  const everywhere = await cli.run('cascades', '--limit', '1000')
  const inSystem = await cli.run('cascades', '--limit', '1000', '--namespace', 'kube-system')
  expect(inSystem.stdout.split('\n').length).toBeLessThan(everywhere.stdout.split('\n').length)
  expect((await cli.run('cascades', '--actor', 'nobody')).stderr).toContain('no such cascades')
  expect((await cli.run('cascade', rootOf(DEPLOYED), '--actor', 'alice')).stderr).toContain('--actor')
})

test('versions that were not seen are said of the cascade and of the write', async () => {
  const attributes = { 'cpid.cause': 'inferred', 'cpid.gap': true, 'user.name': 'system:node:a' }
  const span = { trace: 7_001, id: 7_001, cpid: cpid(7_001), name: 'update v1/pods', attributes }
  writer.spans('kubelet', [span, { ...span, trace: 7_002, id: 7_002 }])
  writer.pass(20_000)
  const { stdout } = await cli.run('cascade', cpid(7_001))
  expect(stdout).toContain('  gaps: versions before 2 writes were not seen, so what happened in between')
  expect(stdout).toMatch(/update v1\/pods ~ \[gap\] +kubelet/)
  expect(stdout).toContain('\ngap: versions of the object before it were not seen\n')
})

const SEEN = { user: 'u', cause: 'exact', gap: false } as const
const STATUS = { name: 'update v1/pods status', seen: SEEN }
const write = (id: number, parent: number, rest: Partial<LinkedSpan> = {}): LinkedSpan =>
  linkedSpan(id, parent, { startNs: BigInt(id), endNs: BigInt(id + 1), name: `w${id}`, seen: SEEN, ...rest })
const drawn = (tree: readonly TreeSpan[]): string[] =>
  tree.map(({ depth, span }) => `${' '.repeat(depth)}${span.name} by ${span.service}`)
const folded = (spans: LinkedSpan[]): string[] => drawn(foldStatusWrites(spanTree(spans)).tree)

test('what follows from writes that are folded stands beside them', () => {
  const spans = [
    write(1, 0),
    write(2, 1, { ...STATUS, service: 'kubelet' }),
    write(3, 2),
    write(4, 2, { ...STATUS, service: 'replicaset-controller' }),
    write(5, 4),
    write(6, 5, { ...STATUS, service: 'kubelet' }),
    write(7, 1, { ...STATUS, seen: undefined, service: 'instrumented' }),
  ]
  expect(folded(spans)).toEqual([
    'w1 by service',
    ' … 2 status updates by 2 services',
    ' w3 by service',
    ' w5 by service',
    '  update v1/pods status by kubelet',
    ' update v1/pods status by instrumented',
  ])
})

test('whatever the tree, nothing but writes of a status goes, and each of those is counted', () => {
  const drawing = fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 40 })
  fc.assert(
    fc.property(drawing, (drawn) => {
      const spans = drawn.map(([above, isStatus], at) =>
        write(at + 1, at === 0 ? 0 : above % (at + 1), isStatus ? STATUS : {}),
      )
      const whole = spanTree(spans)
      const { tree, folded: count } = foldStatusWrites(whole)
      const others = (of: readonly TreeSpan[]): bigint[] =>
        of.flatMap(({ span }) => (/^w\d+$/.test(span.name) ? [span.spanId] : []))
      expect(others(tree)).toEqual(others(whole))
      const lines = tree.flatMap(({ span }) => /^… (\d+) status updates$/.exec(span.name)?.[1] ?? [])
      expect(lines.every((many) => Number(many) > 1)).toBe(true)
      expect(lines.reduce((sum, many) => sum + Number(many), 0)).toBe(count)
      expect(tree).toHaveLength(whole.length - count + lines.length)
      let before = -1
      for (const { depth } of tree) {
        expect(depth).toBeLessThanOrEqual(before + 1)
        before = depth
      }
    }),
  )
})
