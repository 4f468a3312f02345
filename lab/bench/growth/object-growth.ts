import { join } from 'node:path'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { UNPRUNED } from '../fill/fill-database.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { Options } from '../options.ts'
import { askAll } from './ask.ts'
import type { FromWriter, ToWriter } from './messages.ts'

const QUESTIONS = 20
const LONGEST_MS = 600_000

/** Objects with `changes` changes behind them: the cost of the next one, and of questions about one of them. */
export async function measureObject(
  options: Options,
  directory: string,
  changes: number,
): Promise<Record<string, number>[]> {
  const path = join(directory, DATABASE)
  const db = openForWriting(path)
  await migrate(db)
  db.close()
  using writer = new HelperProcess<ToWriter, FromWriter>('../growth/writer.ts')
  await writer.hear('ready')
  const rounds: Record<string, number>[] = []
  writer.tell({ kind: 'objects', path, changes, rounds: options.rounds })
  const { first, newest, object, linkCpuUs } = await writer.hear('objects', LONGEST_MS)
  const causeway = await startMeasuredCauseway(options, directory, undefined, UNPRUNED)
  try {
    const times = async (question: string): Promise<number> =>
      (await askAll(causeway.query, new Array<string>(QUESTIONS).fill(question))).p50Ms
    for (const cost of linkCpuUs) {
      rounds.push({
        linkCpuUs: cost,
        newestMs: await times(`cpids/${newest}/related`),
        firstMs: await times(`cpids/${first}/related`),
        historyMs: await times(`objects?ref=${encodeURIComponent(object)}`),
      })
    }
  } finally {
    await causeway.stop()
  }
  return rounds
}
