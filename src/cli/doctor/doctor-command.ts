import { existsSync } from 'node:fs'
import { COMPONENTS } from '../../app/components.ts'
import { askDatabase } from '../../app/database/database-file.ts'
import { isRunningOn } from '../../app/database/database-work.ts'
import { systemClock } from '../../app/system-clock.ts'
import { ConfigError, describeMistake } from '../../config/config-error.ts'
import type { LoadedConfig } from '../../config/load-config.ts'
import { timeoutOf, wantsJson } from '../arguments.ts'
import { CliError, messageOf } from '../cli-error.ts'
import type { CliIo } from '../cli-io.ts'
import type { Run } from '../commands/command.ts'
import type { CommandLine } from '../command-line.ts'
import { configOf } from '../config-of.ts'
import { terminalOf } from '../text/terminal.ts'
import { count } from '../text/show.ts'
import { checkBackends } from './check-backends.ts'
import { checkDatabase } from './check-database.ts'
import { checkExporters } from './check-exporters.ts'
import { checkOpenFiles } from './check-open-files.ts'
import { checkPorts } from './check-ports.ts'
import { checkReceivers } from './check-receivers.ts'
import { checkSenders } from './check-senders.ts'
import { checkSetAside } from './check-set-aside.ts'
import { fail, ok, warn, type Finding, type FindingState } from './finding.ts'

const DEFAULT_TIMEOUT_MS = 30_000
const CHECK_WIDTH = 15
const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red' } as const

export const runDoctor: Run = async (line, io) => {
  const json = wantsJson(line)
  const findings: Finding[] = []
  for await (const finding of examine(line, io)) {
    findings.push(finding)
    if (!json) io.stdout.write(textOf(finding, io))
  }
  const failed = countOf(findings, 'fail')
  if (json) io.stdout.write(`${JSON.stringify({ state: worst(findings), findings })}\n`)
  else {
    const summary = [
      `${countOf(findings, 'ok')} ok`,
      count(countOf(findings, 'warn'), 'warning'),
      `${failed} failed`,
    ]
    io.stdout.write(`\n${summary.join(', ')}\n`)
  }
  if (failed > 0)
    throw new CliError(`${count(failed, 'check')} failed; do what stands beside each, and ask again`)
  return 0
}

async function* examine(line: CommandLine, io: CliIo): AsyncGenerator<Finding> {
  const timeoutMs = timeoutOf(line, DEFAULT_TIMEOUT_MS)
  const loaded = load(line, io)
  if (Array.isArray(loaded)) {
    yield* loaded
    return
  }
  const { config, warnings } = loaded
  yield ok('configuration', 'is right')
  for (const warning of warnings) yield warn('configuration', warning, 'see docs/reference/configuration.md')
  const { storage, retention, linking } = config.cpid
  const isRunning = isRunningOn(storage.path)
  yield ok('causeway', isRunning ? 'runs on this database' : 'does not run on this database')
  yield checkOpenFiles(config)
  yield* checkPorts(config, isRunning)
  yield* checkDatabase(storage.path, retention, timeoutMs)
  yield* checkBackends(config, io.components ?? COMPONENTS)
  yield* checkReceivers(config, io.components ?? COMPONENTS)
  if (!isReadable(storage.path)) return
  using database = askDatabase(storage.path)
  try {
    const facts = database.senders()
    yield* checkExporters(facts, isRunning)
    yield checkSetAside(database.setAside())
    const isSentTo = config.receivers.some(({ listeners }) => listeners.length > 0)
    yield* checkSenders(facts, { nowMs: systemClock.wallMs(), waitMs: linking.waitMs, isSentTo })
  } catch (error) {
    yield fail(
      'senders',
      `what has arrived cannot be read: ${messageOf(error)}`,
      'see what stands beside database and integrity above, and ask again',
    )
  }
}

function load(line: CommandLine, io: CliIo): LoadedConfig | Finding[] {
  try {
    return configOf(line, io)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.mistakes.map((mistake) =>
      fail('configuration', describeMistake(mistake), 'correct it; causeway validate checks again'),
    )
  }
}

function isReadable(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    using database = askDatabase(path)
    return database.schema === 'current'
  } catch {
    return false
  }
}

function textOf({ state, check, message, advice }: Finding, io: CliIo): string {
  const { paint } = terminalOf(io)
  const first = `${paint(COLOURS[state], state.padEnd(4))}  ${check.padEnd(CHECK_WIDTH)}  ${message}\n`
  const margin = ' '.repeat(4 + 2 + CHECK_WIDTH + 2)
  return advice === undefined ? first : `${first}${margin}→ ${advice.replaceAll('\n', `\n${margin}  `)}\n`
}

function countOf(findings: readonly Finding[], state: FindingState): number {
  return findings.filter((finding) => finding.state === state).length
}

function worst(findings: readonly Finding[]): FindingState {
  if (countOf(findings, 'fail') > 0) return 'fail'
  return countOf(findings, 'warn') > 0 ? 'warn' : 'ok'
}
