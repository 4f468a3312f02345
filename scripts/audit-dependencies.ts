import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

interface Report {
  auditReportVersion?: number
  vulnerabilities?: Record<string, { severity: string; range: string; fixAvailable: unknown }>
  message?: string
  error?: { summary?: string }
}

/**
 * Asks the registry for known weaknesses of what Causeway is made of when it runs. Fails when there are serious ones, and when
 * the registry could not be asked; with `--not-asked <file>` the latter is written into that file instead, and is no failure.
 */
const { values } = parseArgs({ options: { 'not-asked': { type: 'string' } } })
const SERIOUS = ['high', 'critical']
const { stdout, stderr } = spawnSync('npm', ['audit', '--json', '--omit', 'dev'], {
  cwd: new URL('../', import.meta.url),
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  shell: process.platform === 'win32',
})
const report = read(stdout)
if (report?.auditReportVersion === undefined) {
  const why = report?.message ?? report?.error?.summary ?? stderr.split('\n', 1).join('')
  console.log(`dependencies: NOT AUDITED, the registry could not be asked: ${why}`)
  if (values['not-asked'] === undefined) {
    console.error(
      'Error: nothing was audited; try again where the registry of "npm config get registry" answers audits, ' +
        'or note it with --not-asked <file>',
    )
    process.exitCode = 1
  } else {
    writeFileSync(values['not-asked'], `the dependency audit, as the registry could not be asked: ${why}\n`)
  }
} else {
  const found = Object.entries(report.vulnerabilities ?? {})
  for (const [name, { severity, range, fixAvailable }] of found) {
    console.log(`${severity}: ${name} ${range}${fixAvailable === false ? '' : ', a fixed version is there'}`)
  }
  console.log(`dependencies: ${found.length} with known weaknesses`)
  if (found.some(([, { severity }]) => SERIOUS.includes(severity))) process.exitCode = 1
}

function read(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report
  } catch {
    return undefined
  }
}
