import type { Cpid } from '../model/cpid.ts'
import type { Absent, CausewayQueries } from '../model/ports/query-port.ts'
import { answer } from '../query/answer.ts'
import type { Question } from '../query/question.ts'
import { CliError } from './cli-error.ts'
import type { TextSink } from './commands/config-commands.ts'

/** What was found of a CPID. Throws CliError when there is nothing. */
export function found<T>(cpid: Cpid, result: T | Absent): T {
  if (result === 'unknown') throw new CliError(absenceOf(cpid, 'unknown'))
  if (result === 'pruned') throw new CliError(absenceOf(cpid, 'pruned'))
  return result
}

/** Why nothing is known of a CPID, and what to do. */
export function absenceOf(cpid: Cpid, why: Absent): string {
  return why === 'unknown'
    ? `no mergelog, span or log has named CPID ${cpid}; check it, and whether its sender reaches Causeway`
    : `CPID ${cpid} was pruned; raise connectors::cpid::retention to keep CPIDs longer`
}

/** Writes the JSON that answers a question about a CPID, or about everything, as the API does. */
export function writeJson(to: TextSink, queries: CausewayQueries, question: Question, about?: Cpid): void {
  const answered = answer(queries, question)
  if (answered.kind === 'found') {
    for (const piece of answered.pieces) to.write(piece)
    to.write('\n')
    return
  }
  if (about !== undefined && answered.kind !== 'badCursor') found(about, answered.kind)
  throw new Error(`a question of the command line was refused: ${answered.kind}`)
}
