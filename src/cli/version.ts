import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../', import.meta.url)

/** What `causeway --version` prints: version, commit if known, and schema of databases. */
export function versionLine(version: string, gitHead?: string): string {
  const commit = gitHead ?? checkedOut()
  const details = [
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 12)}`]),
    `schema ${newestSchema()}`,
  ]
  return `causeway version ${version} (${details.join(', ')})\n`
}

/** The newest migration. */
function newestSchema(): string {
  const names = readdirSync(new URL('migrations/', ROOT)).filter((name) => /^\d{3}-/.test(name))
  return (
    names
      .sort()
      .at(-1)
      ?.replace(/\.[jt]s$/, '') ?? 'unknown'
  )
}

function checkedOut(): string | undefined {
  if (!existsSync(new URL('.git', ROOT))) return undefined
  const { stdout, status } = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: fileURLToPath(ROOT),
    encoding: 'utf8',
  })
  return status === 0 ? stdout.trim() : undefined
}
