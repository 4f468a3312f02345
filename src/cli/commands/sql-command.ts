import { askSql } from '../../app/sql/ask-sql.ts'
import type { FromSql } from '../../threads/sql-messages.ts'
import { maxRowsOf, timeoutOf, wantsJson } from '../arguments.ts'
import { CliError, messageOf } from '../cli-error.ts'
import type { Command } from './command.ts'
import { absenceOf } from '../found.ts'
import { readablePath } from '../open-store.ts'
import { count } from '../text/show.ts'
import { jsonOutput, textOutput } from '../text/sql-output.ts'

const DEFAULT_MAX_ROWS = 1_000
const DEFAULT_TIMEOUT_MS = 10_000

const HELP = `
One SELECT on the database, read-only, beside a running Causeway or without one; - reads it from the standard input.
docs/audit.md describes the views audit_* and answers a dozen questions. In FROM also stand

  related('<cpid>')    the CPID and every CPID that descends from it: columns cpid and place, itself first, then by time
  ancestors('<cpid>')  the CPIDs it descends from, nearest first
  roots('<cpid>')      those of its ancestors and itself that no change led to: operator actions

A table has as many characters in a line as the terminal; cells that are too long for it are cut, and whole with --wide. A query that
takes longer than --timeout is ended, so that none runs for ever unseen.

In JSON, BLOBs are hexadecimal digits and integers beyond 2^53 are strings.
`

export const SQL: Command = {
  usage: '"<select>"',
  summary: 'ask the database in SQL; it is only read',
  help: HELP,
  options: ['format', 'wide', 'timeout', 'max-rows'],
  meanings: { timeout: 'how long the query may take, at most 1h (10s)' },
  leastArgs: 1,
  mostArgs: 1,
  run: async (line, io) => {
    const note = (text: string): void => void io.stderr.write(`Note: ${text}\n`)
    const output = wantsJson(line)
      ? jsonOutput(io.stdout)
      : textOutput(io.stdout, {
          width: line.wide === true ? undefined : io.terminalWidth,
          onCut: () =>
            note('cells are cut to the width of the terminal; --wide or --format json shows them whole'),
        })
    const maxRows = maxRowsOf(line, DEFAULT_MAX_ROWS)
    const timeoutMs = timeoutOf(line, DEFAULT_TIMEOUT_MS)
    const path = await readablePath(line, io)
    const [written = ''] = line.args
    const sql = written === '-' ? await io.readInput() : written
    const answered = { cut: false }
    const take = (answer: FromSql): void => {
      if (answer.kind === 'columns') output.columns(answer.names)
      else if (answer.kind === 'rows') output.rows(answer.rows)
      else if (answer.kind === 'absent') note(absenceOf(answer.cpid, answer.why))
      else if (answer.kind === 'done') answered.cut = answer.cut
    }
    try {
      await askSql({ path, sql, maxRows }, timeoutMs, take)
    } catch (error) {
      throw new CliError(messageOf(error))
    }
    output.end()
    if (answered.cut) note(`these are the first ${count(maxRows, 'row')}; raise --max-rows to see more`)
    return 0
  },
}
