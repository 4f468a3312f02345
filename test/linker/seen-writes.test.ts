import { expect, test } from '@jest/globals'
import { namespaceOfObject } from '../../src/model/kubernetes-objects.ts'
import type { CascadeList } from '../../src/query/answer-schemas.ts'
import { ask } from '../query/asking.ts'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const POD = 'v1/pods/shop/web-1?uid=u&rv=7'

/** A span as inference makes it. */
const write = (id: number, at: number, said: Record<string, unknown>): SpanSketch => ({
  trace: id,
  id,
  cpid: cpid(at),
  start: id,
  attributes: { 'cpid.wrote': [POD], 'cpid.cause': 'inferred', ...said },
})

const rowsOf = (writer: TestWriter, table: string): unknown[] =>
  writer.db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).raw().all()

const ACTORS = `(SELECT episode, actor, writes, gaps, began FROM audit_cascade_actors)`

test('who wrote in a cascade is noted with it: users, and services where no user is known', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1), object: 'v1/namespaces/shop' }])
  writer.spans('kubectl', [write(1, 1, { 'cpid.cause': 'operator', 'user.name': 'alice' })])
  writer.spans('kubelet', [write(2, 1, { 'cpid.gap': true }), write(3, 1, { 'cpid.gap': false })])
  writer.spans('kubelet', [write(4, 1, { 'user.name': 'system:node:a' })])
  writer.pass(100)
  expect(rowsOf(writer, ACTORS)).toEqual([
    [0, 'alice', 1, 0, 'yes'],
    [0, 'kubelet', 2, 1, 'no'],
    [0, 'system:node:a', 1, 0, 'no'],
  ])
})

test('a span that tells of no such write, or of a cause that nobody knows, is nobody’s', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans('kubectl', [
    { trace: 1, id: 1, cpid: cpid(1), attributes: { 'user.name': 'alice', 'cpid.gap': true } },
    write(2, 1, { 'cpid.cause': 'guessed', 'user.name': 'alice' }),
    write(3, 1, { 'cpid.cause': 7, 'user.name': 'alice' }),
  ])
  writer.pass(100)
  expect(rowsOf(writer, ACTORS)).toEqual([])
  expect(writer.rows('seen_writes')).toBe(0)
})

test('a change that another one merges is begun by whoever began that other one', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), time: 1 }])
  writer.spans('kubectl', [write(1, 1, { 'cpid.cause': 'operator', 'user.name': 'alice' })])
  writer.spans('kubectl', [write(2, 2, { 'cpid.cause': 'operator', 'user.name': 'bob' })])
  writer.mergelogs('kubelet', [{ new: cpid(3), sources: [cpid(1), cpid(2)], time: 2 }])
  writer.spans('kubelet', [write(3, 3, { 'cpid.gap': true })])
  writer.pass(100)
  const cascades = writer.db.prepare('SELECT root, actor, gaps FROM audit_cascades ORDER BY root').raw().all()
  expect(cascades).toEqual([
    [cpid(1), 'alice', 1],
    [cpid(2), 'bob', 1],
  ])
})

test('an operator who joins a change that is there began nothing', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.mergelogs('kubectl', [{ new: cpid(2), sources: [cpid(1)], time: 1 }])
  writer.spans('kubectl', [write(1, 2, { 'cpid.cause': 'operator', 'user.name': 'carol' })])
  writer.pass(20_000)
  expect(rowsOf(writer, ACTORS)).toEqual([[0, 'carol', 1, 0, 'no']])
})

test('a user of a very long name is known by its beginning', async () => {
  using writer = await TestWriter.open()
  writer.spans('kubectl', [write(1, 1, { 'user.name': 'a'.repeat(5_000) })])
  writer.spans('kubectl', [write(2, 1, { 'user.name': '' })])
  expect(rowsOf(writer, '(SELECT span, user_name FROM seen_writes)')).toEqual([
    [1, 'a'.repeat(256)],
    [2, null],
  ])
})

test('a span that is sent again is one write', async () => {
  using writer = await TestWriter.open()
  const span = write(1, 1, { 'user.name': 'alice' })
  writer.spans('kubectl', [span])
  writer.spans('kubectl', [span, write(2, 1, { 'user.name': 'alice' })])
  writer.pass(20_000)
  expect(rowsOf(writer, ACTORS)).toEqual([[0, 'alice', 2, 0, 'no']])
  expect(writer.rows('seen_writes')).toBe(2)
})

test('a cascade is known by the namespaces that it wrote into, and by that of what it began with', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1), object: 'apps/v1/deployments/default/web?rv=1' }])
  const wrote = [POD, 'v1/nodes/a?rv=8', 'rbac.authorization.k8s.io/v1/clusterroles/x?rv=9']
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1), attributes: { 'cpid.wrote': wrote } }])
  writer.pass(100)
  expect(rowsOf(writer, '(SELECT namespace, trace FROM trace_namespaces)')).toEqual([
    ['default', 1],
    ['shop', 1],
  ])
})

test('a cascade is known by what it began with, by object and by namespace alike, whenever its mergelog comes', async () => {
  for (const late of [undefined, 0, 1_000, 20_000, 400_000]) {
    using writer = await TestWriter.open()
    const tell = (): void => {
      writer.mergelogs('kubectl', [{ new: cpid(1), object: 'v1/services/shop/web?rv=1' }])
    }
    if (late === undefined) tell()
    writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
    writer.pass(late ?? 0)
    if (late !== undefined) tell()
    writer.pass(20_000)
    const found = [{ object: 'v1/services/shop' }, { namespace: 'shop' }].map((filter) =>
      ask<CascadeList>(writer, { kind: 'cascades', filter, part: {} }).cascades.map(({ root }) => root),
    )
    expect([late, ...found]).toEqual([late, [cpid(1)], [cpid(1)]])
  }
})

test('the namespace of an object is the same to SQL and to the linker', async () => {
  using writer = await TestWriter.open()
  const objects = {
    'v1/pods/shop/web-1': 'shop',
    'v1/namespaces/shop': 'shop',
    'v1/nodes/a': undefined,
    'v1beta1/things/shop/a': 'shop',
    'apps/v1/deployments/shop/web': 'shop',
    'rbac.authorization.k8s.io/v1/clusterroles/x': undefined,
    'v2.edp.epam.com/v1/stages/shop/a': 'shop',
    'v2.edp.epam.com/v1/stages/a': undefined,
    'apps/v1/namespaces/a': undefined,
  }
  for (const [object, namespace] of Object.entries(objects))
    expect([object, namespaceOfObject(object)]).toEqual([object, namespace])
  writer.mergelogs(
    'kubectl',
    Object.keys(objects).map((object, at) => ({ new: cpid(at + 1), object })),
  )
  const stored = writer.db.prepare('SELECT object, namespace FROM objects').raw().all()
  expect(Object.fromEntries(stored as [string, string | null][])).toEqual(
    Object.fromEntries(Object.entries(objects).map(([object, namespace]) => [object, namespace ?? null])),
  )
})
