import { afterAll, describe, expect, test } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MINUTE, NOTED, PRUNE_EVERY_MS, Turns } from './support/turns.ts'

const folder = mkdtempSync(join(tmpdir(), 'causeway-turns-'))
const path = (name: string): string => join(folder, `${name}.db`)

afterAll(() => rmSync(folder, { recursive: true }))

/** As long as nothing must have failed for the database to be well again, and then some. */
const CALM_MS = 5_000

/** What keeps a real database from being written for a while: each begins it, and returns what ends it. */
const FAULTS: Record<string, { kind: string; begin: (turns: Turns) => () => void }> = {
  'that may not be written': {
    kind: 'readOnly',
    begin: ({ store }) => {
      store.refuseWrites()
      return () => store.allowWrites()
    },
  },
  'that cannot grow': {
    kind: 'full',
    begin: ({ store }) => {
      // Whatever is written needs a new page.
      store.db.exec(`
        CREATE TEMP TRIGGER progress_grows AFTER UPDATE ON main.progress
        BEGIN INSERT INTO main.filler VALUES (zeroblob(100000)); END`)
      store.fillDisk()
      return () => {
        store.freeDisk()
        store.db.exec('DROP TRIGGER temp.progress_grows')
      }
    },
  },
}

/** What has to be done with nobody sending: `before` brings it about, `isDone` says whether it is. */
const WORK: Record<
  string,
  { before: (turns: Turns) => void; afterMs?: number; isDone: (turns: Turns) => boolean }
> = {
  linking: {
    before: (turns) => {
      turns.send(1)
      turns.timers.next()
      expect(turns.store.writer.linkLag).toBeGreaterThan(0)
    },
    isDone: ({ store }) => store.writer.linkLag === 0 && store.writer.gauges().openTraces === 1,
  },
  settling: {
    before: (turns) => {
      turns.send(1)
      turns.timers.pass(PRUNE_EVERY_MS + 1_000)
      expect(turns.store.writer.gauges().openTraces).toBe(1)
    },
    afterMs: 400_000,
    isDone: ({ store }) => store.writer.gauges().openTraces === 0,
  },
  pruning: {
    before: (turns) => {
      turns.send(1)
      turns.timers.pass(9 * MINUTE)
      expect(turns.store.writer.gauges().cpids).toBe(1)
    },
    afterMs: 3 * MINUTE,
    isDone: ({ store }) => store.writer.gauges().cpids === 0,
  },
  'saving exporter positions': {
    before: (turns) => {
      turns.store.keepExporters('traces', ['otlp/a'])
      turns.moved('otlp/a', 7)
    },
    isDone: ({ store }) => store.writer.reader.positions('traces').get('otlp/a') === 7,
  },
}

describe.each(Object.keys(FAULTS))('after a database %s for a while', (name) => {
  const { kind, begin } = FAULTS[name]!

  async function begun(what: string): Promise<Turns> {
    const settings = { retention: { maxAgeMs: 10 * MINUTE } }
    const turns = await Turns.begun(path(`${kind} ${what}`), settings)
    turns.store.db.exec('CREATE TABLE filler (bytes BLOB)')
    return turns
  }

  test.each(Object.keys(WORK))('%s goes on by itself', async (what) => {
    const { before, afterMs = 1_000, isDone } = WORK[what]!
    using turns = await begun(what)
    before(turns)
    const end = begin(turns)
    turns.timers.pass(afterMs)
    expect(turns.troubles).toContainEqual(expect.stringContaining(what))
    expect(turns.health.fault?.kind).toBe(kind)
    expect(isDone(turns)).toBe(false)
    end()
    turns.timers.pass(PRUNE_EVERY_MS + CALM_MS)
    expect(isDone(turns)).toBe(true)
    expect(turns.health.fault).toBeUndefined()
    expect(turns.troubles).toEqual([])
  })

  test('what exporters could not send meanwhile is noted, before the position that passes it', async () => {
    using turns = await begun('noting')
    const { writer } = turns.store
    turns.store.keepExporters('traces', ['otlp/a'])
    const end = begin(turns)
    turns.turns.setAside([NOTED])
    turns.moved('otlp/a', 6)
    turns.timers.pass(1_000)
    expect(turns.troubles).toContainEqual(expect.stringContaining('noting what cannot be sent'))
    expect(writer.reader.positions('traces').get('otlp/a')).toBe(0)
    end()
    turns.timers.pass(1_000)
    expect(turns.store.db.prepare('SELECT stage, item, exporter FROM set_aside').all()).toEqual([
      { stage: 'sending', item: 5, exporter: 'otlp/a' },
    ])
    expect(writer.reader.positions('traces').get('otlp/a')).toBe(6)
  })

  test('senders are asked to come again, and are served when they do', async () => {
    using turns = await begun('senders')
    const end = begin(turns)
    turns.send(1)
    turns.timers.pass(1_000)
    expect(turns.said('ingested')).toMatchObject([{ outcomes: [{ id: 1, outcome: { kind: 'failed' } }] }])
    end()
    turns.send(1)
    turns.timers.pass(1_000)
    expect(turns.said('ingested')).toMatchObject([{ outcomes: [{ id: 1, outcome: { kind: 'accepted' } }] }])
  })

  test('it can be told to catch up and to stop meanwhile', async () => {
    using turns = await begun('stopping')
    turns.send(1)
    turns.timers.next()
    begin(turns)
    turns.send(2)
    turns.turns.catchUp(MINUTE)
    expect(turns.said('caughtUp')).toHaveLength(1)
    turns.send(3)
    turns.turns.stop()
    expect(turns.said('ingested').flatMap(({ outcomes }) => outcomes)).toMatchObject([
      { id: 1, outcome: { kind: 'accepted' } },
      { id: 2, outcome: { kind: 'failed' } },
      { id: 3, outcome: { kind: 'failed' } },
    ])
  })
})
