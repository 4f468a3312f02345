import { askSql } from '../../app/sql/ask-sql.ts'
import type { FromSql } from '../../threads/sql-messages.ts'
import { maxRowsOf, timeoutOf, wantsJson } from '../arguments.ts'
import { CliError, messageOf } from '../cli-error.ts'
import type { Run } from './command.ts'
import { absenceOf } from '../found.ts'
import { readablePath } from '../open-store.ts'
import { count } from '../text/show.ts'
import { jsonOutput, textOutput } from '../text/sql-output.ts'

const DEFAULT_MAX_ROWS = 1_000
const DEFAULT_TIMEOUT_MS = 10_000

export const runSql: Run = async (line, io) => {
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
}
