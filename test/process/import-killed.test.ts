import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { Cli } from '../cli/cli.ts'
import { toldLines } from '../importing/imports.ts'
import { allRows, linesOfRollout, type RecordedLine } from '../importing/recorded-lines.ts'

const PROGRAM = fileURLToPath(new URL('../../bin/causeway.js', import.meta.url))
const LINES = linesOfRollout(64, 84).sort((one, other) => one.atMs - other.atMs)

/** A folder with recordings that grow, and the command that imports them. */
class Recorded extends Cli {
  readonly #folder = dirname(this.config)

  grow(lines: readonly RecordedLine[]): this {
    for (const { source, text: line } of lines) appendFileSync(join(this.#folder, source), `${line}\n`)
    return this
  }

  get argv(): string[] {
    const kwok = ['--set', 'connectors::cpid::inference::controllers=[kwok]']
    const files = ['audit', 'watch'].flatMap((source) => [`--${source}`, join(this.#folder, source)])
    for (const source of ['audit', 'watch']) writeFileSync(join(this.#folder, source), '', { flag: 'a' })
    return ['import', '--cluster', 'test', ...kwok, ...files]
  }

  start(...options: string[]): ChildProcess {
    return spawn(process.execPath, [PROGRAM, ...this.argv, ...options, '--config', this.config])
  }
}

const whole = async (): Promise<Record<string, string[]>> => {
  using cli = new Recorded().grow(LINES)
  await cli.json(...cli.argv)
  return allRows(cli.path)
}

test('an import that is killed, followed, ended by a signal and run again stores what an undisturbed one does', async () => {
  using cli = new Recorded()
  const third = LINES.length / 3
  const grow = (part: number): unknown => cli.grow(LINES.slice(third * part, third * (part + 1)))
  grow(0)
  const killed = cli.start('--follow')
  await eventually(() => expect(toldLines(cli.path)).toBeGreaterThan(0))
  const told = toldLines(cli.path)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  grow(1)
  const child = cli.start('--follow')
  const printed = text(child.stdout ?? Readable.from([]))
  await eventually(() => expect(toldLines(cli.path)).toBeGreaterThan(told))
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(await printed).toContain('cascades that are open stay open')
  grow(2)
  await cli.json(...cli.argv)
  expect(allRows(cli.path)).toEqual(await whole())
}, 300_000)

test('where the database cannot grow, an import says what to do, and goes on where it ended', async () => {
  using cli = new Recorded().grow(LINES)
  const { status, stderr } = spawnSync(
    'bash',
    // Units of 1,024 bytes: the schema fits. With a socket for input bash would read ~/.bashrc first.
    [
      '--norc',
      '-c',
      'ulimit -f 1200; exec "$@"',
      'bash',
      process.execPath,
      PROGRAM,
      ...cli.argv,
      '--config',
      cli.config,
    ],
    { encoding: 'utf8' },
  )
  expect(status).toBe(1)
  expect(stderr).toMatch(/cannot be written any more: .*make room.*name the same files again/)
  await cli.json(...cli.argv)
  expect(allRows(cli.path)).toEqual(await whole())
})
