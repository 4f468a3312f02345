import { existsSync } from 'node:fs'
import { CliError, type Run, wantsJson } from '../../src/cli/command-line.ts'
import { loadCommandConfig } from '../../src/cli/configuration.ts'
import { count } from '../../src/cli/text.ts'
import { salvage, type Salvaged, type SalvagedTable } from './salvage.ts'

const MAX_NAMED = 5

export const runSalvage: Run = async (line, io) => {
  const json = wantsJson(line)
  const [to = ''] = line.args
  const { path } = loadCommandConfig(line, io).config.cpid.storage
  if (!existsSync(path)) {
    throw new CliError(`there is no database at ${path}; correct connectors::cpid::storage::path`)
  }
  const salvaged = await salvage(path, to)
  const text = json ? JSON.stringify({ from: path, to, ...salvaged }) : textOf(path, to, salvaged)
  io.stdout.write(`${text}\n`)
  return 0
}

function textOf(from: string, to: string, { isHeaderNew, tables, mended }: Salvaged): string {
  const lines = tables.filter(({ rows, lost }) => rows > 0 || lost.length > 0).map(tableText)
  if (isHeaderNew) lines.unshift('the header of the file was damaged; it was read with a new one')
  for (const { what, rows } of mended) lines.push(`mended: ${rows} ${what}`)
  const isWhole = tables.every(({ lost }) => lost.length === 0)
  lines.push(
    isWhole ? 'every row could be read' : 'what is lost stands above',
    `${to} is ready; keep ${from}, then move ${to} to its place or name it in connectors::cpid::storage::path`,
  )
  return lines.join('\n')
}

function tableText({ table, rows, lost }: SalvagedTable): string {
  const text = `${table}: ${count(rows, 'row')}`
  if (lost.length === 0) return text
  const more = lost.length > MAX_NAMED ? ` and ${lost.length - MAX_NAMED} more` : ''
  return `${text}; lost: ${lost.slice(0, MAX_NAMED).join(', ')}${more}`
}
