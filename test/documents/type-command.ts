import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { askPlain } from '../audit/plain-sqlite.ts'
import type { PreparedCheckout } from './prepared-checkout.ts'

interface Typed {
  code: number | null
  /** Both outputs. */
  printed: string
}

const SHELL_QUOTED = /^sqlite3 (?:-readonly )?(\S+) "(.*)"$/
/** npx takes a second to find what is here; one of the commands goes through it. */
const THROUGH_NPX = 'npx causeway validate'
const DOCUMENTED_CPID = /<cpid>|<root>/g
const DOCUMENTED_DATE = /\$\(date \+%F\)|2026-01-31/g
const TODAY = '2026-01-31'

/** Types a command of the documents in a checkout: with its ports, its backups and a CPID that it knows. */
export async function typeCommand(command: string, checkout: PreparedCheckout, cpid = ''): Promise<Typed> {
  const own = checkout
    .onOwnPorts(command)
    .replaceAll(DOCUMENTED_CPID, cpid)
    .replaceAll('/backup/', `${checkout.backups}/`)
    .replaceAll(DOCUMENTED_DATE, TODAY)
  const [, address] = /^curl '([^']*)'$/.exec(own) ?? []
  if (address !== undefined) return askOverHttp(address)
  const [, path, sql] = SHELL_QUOTED.exec(own) ?? []
  if (path !== undefined && sql !== undefined) {
    const rows = askPlain(join(path.startsWith('/') ? '' : checkout.folder, path), sql)
    return { code: 0, printed: rows.map((row) => `${JSON.stringify(row)}\n`).join('') }
  }
  const line = own.startsWith(THROUGH_NPX) ? own : own.replace(/^(npx )?causeway /, 'node bin/causeway.js ')
  return typeInShell(line, checkout)
}

async function askOverHttp(address: string): Promise<Typed> {
  const answer = await fetch(`http://${address}`)
  return { code: answer.ok ? 0 : answer.status, printed: await answer.text() }
}

async function typeInShell(line: string, checkout: PreparedCheckout): Promise<Typed> {
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: checkout.onOwnPorts('http://localhost:4318') }
  const child = spawn('sh', ['-c', line], { cwd: checkout.folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  // npm says what it thinks of its own configuration.
  return { code, printed: printed.replaceAll(/^npm warn .*\n/gim, '') }
}
