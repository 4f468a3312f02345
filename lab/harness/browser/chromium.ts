import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Where a Chromium is, or why there is none and none could be installed. */
type FoundChromium = { kind: 'found'; path: string } | { kind: 'absent'; why: string }

/** Finds Chromium: the one that CAUSEWAY_CHROMIUM names, one on the PATH, or the system's package, installed if it can be. */
export function findChromium(): FoundChromium {
  const named = process.env['CAUSEWAY_CHROMIUM']
  if (named !== undefined) {
    return isProgram(named)
      ? { kind: 'found', path: named }
      : absent(`CAUSEWAY_CHROMIUM is ${named}, which is no program`)
  }
  const there = onPath()
  if (there !== undefined) return { kind: 'found', path: there }
  if (process.getuid?.() !== 0 || !hasAptGet()) {
    return absent('there is no Chromium on the PATH, and only root with apt-get can install it')
  }
  process.stderr.write('Installing Chromium with apt-get ...\n')
  if (!install() && !(aptGet('update') && install())) return absent('apt-get could not install Chromium')
  const installed = onPath()
  return installed === undefined
    ? absent('apt-get installed no Chromium')
    : { kind: 'found', path: installed }
}

function absent(why: string): FoundChromium {
  return { kind: 'absent', why }
}

function install(): boolean {
  return aptGet('install', '-y', '--no-install-recommends', 'chromium', 'fonts-dejavu-core')
}

function aptGet(...args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', ['-q', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

function hasAptGet(): boolean {
  return spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0
}

function onPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
