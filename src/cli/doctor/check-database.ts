import { accessSync, constants, existsSync, statSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { askDatabase, changeDatabase, longLogBytes } from '../../app/database/database-file.ts'
import { faultyPages } from '../../app/database/database-work.ts'
import type { RetentionConfig } from '../../config/causeway-config.ts'
import { messageOf } from '../cli-error.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { MIB } from '../../model/sizes.ts'

const FULL = 100 * MIB
const NEARLY_FULL = 1024 * MIB
const SETTING = 'connectors::cpid::storage::path'

/** Whether the database is there, sound, in step with this version and writable, with room on its disk. */
export async function* checkDatabase(
  path: string,
  retention: RetentionConfig,
  timeoutMs: number,
): AsyncGenerator<Finding> {
  if (!existsSync(path)) {
    yield checkFolder(path)
    return
  }
  const schema = checkSchema(path)
  yield schema
  if (schema.state === 'fail') return
  yield checkWriting(path)
  yield checkRoom(path, retention)
  yield* checkLog(path)
  yield await checkPages(path, timeoutMs)
}

function checkFolder(path: string): Finding {
  let folder = dirname(resolve(path))
  while (!existsSync(folder)) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    return ok('database', `${path} is not there yet; causeway makes it when it starts`)
  } catch {
    return fail(
      'database',
      `${path} is not there, and ${folder} is not writable`,
      `give it to the user that runs causeway, or correct ${SETTING}`,
    )
  }
}

function checkSchema(path: string): Finding {
  try {
    using database = askDatabase(path)
    switch (database.schema) {
      case 'current':
        return ok('database', `${path}, ${sizeText(statSync(path).size)}, in step with this version`)
      case 'older':
        return warn('database', `${path} has an older schema`, 'run causeway migrate, or start causeway')
      case 'newer':
        return fail(
          'database',
          `${path} was written by a newer Causeway`,
          `use that version, or correct ${SETTING}`,
        )
    }
  } catch (error) {
    return fail(
      'database',
      `cannot read ${path}: ${messageOf(error)}`,
      `if it is a database of Causeway, take what is readable into a new file with causeway salvage; else correct ${SETTING}`,
    )
  }
}

function checkWriting(path: string): Finding {
  try {
    using database = changeDatabase(path)
    database.checkWritable()
    return ok('writing', 'the database can be written')
  } catch (error) {
    return fail(
      'writing',
      `the database cannot be written: ${messageOf(error)}`,
      'check the owner and mode of the file and of its folder',
    )
  }
}

function checkRoom(path: string, { maxBytes }: RetentionConfig): Finding {
  const { bavail, bsize } = statfsSync(dirname(resolve(path)))
  const free = bavail * bsize
  const advice = `free some, or lower connectors::cpid::retention::max_bytes and use another disk for ${SETTING}`
  if (free < FULL) return fail('disk', `only ${sizeText(free)} are free beside the database`, advice)
  const grows = maxBytes === 0 ? 0 : Math.max(maxBytes - statSync(path).size, 0)
  if (free < NEARLY_FULL) return warn('disk', `only ${sizeText(free)} are free beside the database`, advice)
  if (free < grows) {
    return warn(
      'disk',
      `${sizeText(free)} are free, but retention lets the database grow by ${sizeText(grows)}`,
      'lower connectors::cpid::retention::max_bytes, unless other limits keep it smaller',
    )
  }
  return ok('disk', `${sizeText(free)} are free beside the database`)
}

/** A write-ahead log that is short is worth no line. */
function* checkLog(path: string): Generator<Finding> {
  const bytes = longLogBytes(path)
  if (bytes === undefined) return
  yield warn(
    'disk',
    `the write-ahead log is ${sizeText(bytes)} long, since a program reads the database without an end`,
    `end that program (fuser -v ${path} names it); a running Causeway then shortens the log by itself`,
  )
}

async function checkPages(path: string, timeoutMs: number): Promise<Finding> {
  let found: string[]
  try {
    found = await faultyPages(path, timeoutMs)
  } catch (error) {
    return warn(
      'integrity',
      `not checked: ${messageOf(error)}`,
      'raise --timeout, or run PRAGMA quick_check in the sqlite3 shell',
    )
  }
  if (found.length === 0) return ok('integrity', 'every page of the database is sound')
  return fail(
    'integrity',
    `the database is damaged: ${found.join('; ')}`,
    'stop causeway, keep a copy, and restore a backup, or take what is readable into a new file: causeway salvage',
  )
}

function sizeText(bytes: number): string {
  if (bytes >= 1024 * MIB) return `${(bytes / 1024 / MIB).toFixed(1)} GiB`
  return bytes >= MIB ? `${Math.round(bytes / MIB)} MiB` : `${Math.ceil(bytes / 1024)} KiB`
}
