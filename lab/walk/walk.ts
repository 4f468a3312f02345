// How many functions, files and folders of src one item goes through: npm run walk.
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { formatted } from '../charts/formatted.ts'
import { optionsGiven, reasonOf } from '../harness/command-options.ts'
import { freshDirectory } from '../harness/fresh-directory.ts'
import { walkTable, withWalks } from './walk-table.ts'
import { measureWalks } from './walks.ts'

const ARCHITECTURE = fileURLToPath(new URL('../../ARCHITECTURE.md', import.meta.url))
const USAGE = `npm run walk -- [options]
  Follows one item of each kind through a real Causeway and counts what of src runs for it, in all threads, that does not run
  in one that stands idle: functions, their files, and rooms, which are the folders of src. Seven starts, a minute or less.
  --json    the numbers alone, as JSON; after npm run --silent nothing else is printed
  --write   puts the table into ARCHITECTURE.md too`

interface Options {
  json: boolean
  write: boolean
}

function readOptions(args: string[]): Options {
  const flag = { type: 'boolean', default: false } as const
  return parseArgs({ args, options: { json: flag, write: flag } }).values
}

async function walk({ json, write }: Options): Promise<void> {
  using folder = freshDirectory(tmpdir())
  const walks = await measureWalks(folder.path, () => process.stderr.write('.'))
  process.stderr.write('\n')
  console.log(json ? JSON.stringify(walks) : await formatted(ARCHITECTURE, walkTable(walks)))
  if (write) {
    const text = withWalks(readFileSync(ARCHITECTURE, 'utf8'), walks)
    writeFileSync(ARCHITECTURE, await formatted(ARCHITECTURE, text))
  }
}

const options = optionsGiven(USAGE, readOptions)
if (options !== undefined) {
  try {
    await walk(options)
  } catch (error) {
    console.error(`Not followed: ${reasonOf(error)}`)
    process.exitCode = 1
  }
}
