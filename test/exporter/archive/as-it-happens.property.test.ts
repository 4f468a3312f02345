import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { ArchivePosition } from '../../../src/model/archive.ts'
import { TABLES } from '../../../src/exporter/clickhouse/tables.ts'
import { SqliteArchiveReader } from '../../../src/store/sqlite/archive-reader.ts'
import { loadText, SMALLEST } from '../../config/load-text.ts'
import { nativeRows } from '../../support/native-rows.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { TestWriter } from '../../support/test-writer.ts'

const RULES = "{ rules: [{ match: { username: '*' }, merge_from: { clusters: ['*'], services: ['*'] } }] }"
const { senders } = loadText(SMALLEST.replace('cpid: }', `cpid: { senders: ${RULES} } }`)).config.cpid
const SENDER = { username: 'anybody' }

const versions = fc.array(fc.nat(5), { maxLength: 2 })
const who = { service: fc.constantFrom('one', 'two', 'three'), cluster: fc.constantFrom('eu', 'us') }
const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('span' as const),
        ...who,
        trace: fc.integer({ min: 1, max: 3 }),
        id: fc.integer({ min: 1, max: 6 }),
        parent: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 2 }),
        of: fc.option(fc.integer({ min: 1, max: 6 }), { freq: 3 }),
        observed: versions,
        wrote: versions,
        failed: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('mergelog' as const),
        ...who,
        of: fc.integer({ min: 1, max: 6 }),
        sources: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }),
        object: fc.option(fc.nat(5), { freq: 2 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(4_000, 11_000, 301_000, 2_000_000),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('archive' as const) }) },
  ),
  { minLength: 10, maxLength: 35 },
)
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never

/** What an archive holds: by table, the newest row of each key without what differs from write to write. */
class Archived {
  readonly #tables = new Map<string, Map<string, string>>(TABLES.map(({ name }) => [name, new Map()]))
  readonly #reader: SqliteArchiveReader
  readonly #writer: TestWriter
  #position: ArchivePosition
  #version = 1

  constructor(writer: TestWriter, name: string, all: readonly string[]) {
    const kept = writer.writer.keepArchives(all).get(name)
    if (kept === undefined) throw new Error(`no archive is called ${name}`)
    this.#writer = writer
    this.#position = kept.position
    this.#reader = new SqliteArchiveReader(writer.db)
  }

  /** Takes all there is. */
  read(name: string): void {
    for (let reading; (reading = this.#reader.after(this.#position)) !== undefined;) {
      this.#version++
      for (const table of TABLES) {
        const at = { causeway: 'x', version: this.#version, nowMs: Date.UTC(2026, 0, 1), raw: false }
        const rows = this.#tables.get(table.name)
        const names = table.columns.map((column) => column.name)
        for (const values of nativeRows(table.rows(reading.facts, at))) {
          const row = new Map(names.map((column, place) => [column, values[place]]))
          const key = String(table.key.map((column) => row.get(column)))
          const isGone = row.get('is_deleted') === 1
          for (const column of ['version', 'day', 'is_deleted']) row.delete(column)
          if (isGone) rows?.delete(key)
          else rows?.set(key, JSON.stringify([...row], sorted))
        }
      }
      this.#position = { ...reading.upTo, version: this.#version }
      this.#writer.writer.saveArchives([{ exporter: name, position: this.#position, refused: 0 }])
    }
  }

  rows(): Record<string, [string, string][]> {
    return Object.fromEntries([...this.#tables].map(([name, rows]) => [name, [...rows].sort()]))
  }
}

/** Sets of names come in any order. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'bigint'
    ? String(value)
    : Array.isArray(value) && value.every((one) => typeof one === 'string') && value.length !== 2
      ? [...value].sort()
      : value

function play(writer: TestWriter, drawn: Steps, archive: () => void): void {
  for (const [at, step] of drawn.entries()) {
    switch (step.kind) {
      case 'archive':
        archive()
        break
      case 'pass':
        writer.pass(step.ms)
        break
      case 'mergelog': {
        const { of, sources, object, service, cluster } = step
        const told = {
          ...{ new: cpid(of), sources: sources.filter((one) => one < of).map(cpid), time: at * 100 },
          ...(object !== null && { object: `apps/v1/deployments/default/web?rv=${object}` }),
        }
        writer.ingest('logs', mergelogsRequest(service, [told], cluster), SENDER)
        break
      }
      case 'span': {
        const { trace, id, parent, of, observed, wrote, failed, service, cluster } = step
        const pods = (each: readonly number[]): string[] => each.map((one) => `v1/pods/default/web?rv=${one}`)
        const sketch = {
          ...{ trace, id: trace * 100 + id, start: at * 100, end: at * 100 + 50, status: failed ? 2 : 0 },
          ...(parent !== null && { parent: trace * 100 + parent }),
          ...(of !== null && { cpid: cpid(of) }),
          attributes: { 'cpid.observed': pods(observed), 'cpid.wrote': pods(wrote) },
        }
        writer.ingest('traces', spansRequest(service, [sketch], cluster), SENDER)
      }
    }
  }
}

test('an archive that is filled as things happen holds what one holds that is filled afterwards', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), fc.boolean(), async (drawn, hasPermissions, isLinks) => {
      using writer = await TestWriter.open({
        ...(hasPermissions && senders !== undefined && { senders }),
        linking: { mode: isLinks ? 'links' : 'cascade' },
      })
      const early = new Archived(writer, 'early', ['early'])
      play(writer, drawn, () => early.read('early'))
      for (const ms of [30_000, 2_000_000, 2_000_000]) writer.pass(ms)
      early.read('early')
      const late = new Archived(writer, 'late', ['early', 'late'])
      late.read('late')
      expect(early.rows()).toEqual(late.rows())
    }),
    { numRuns: 50 },
  )
})
