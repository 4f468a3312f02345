import { migrateDatabase } from '../../app/database/database-work.ts'
import { wantsJson } from '../arguments.ts'
import type { Run } from './command.ts'
import { configOf } from '../config-of.ts'

export const runMigrate: Run = async (line, io) => {
  const json = wantsJson(line)
  const { path } = configOf(line, io).config.cpid.storage
  const applied = await migrateDatabase(path)
  if (json) io.stdout.write(`${JSON.stringify({ path, applied })}\n`)
  else if (applied.length === 0) io.stdout.write(`${path} is up to date\n`)
  else for (const name of applied) io.stdout.write(`${path}: applied ${name}\n`)
  return 0
}
