// `node bin/node.js <arguments>` is `node <arguments>` under a Node that is new enough. The scripts of package.json go
// through it, because not every npm puts the Node it installed on their PATH.
import { readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { needDependencies } from './dependencies.js'
import { newerNode, startUnder } from './newer-node.js'

const LOOK_EVERY_MS = 500
const SHELL = /^\d+ \((ba|da|a|k|z)?sh\) /
/** Whose child a process becomes when its parent has ended: the first process, or systemd's for a user. */
const FIRST = 1
const SYSTEMD = /^\d+ \(systemd\) /
/** In a container npm may be the first process itself. */
const FIRST_IS_NPM = /^1 \((npm|node|MainThread|(ba|da|a|k|z)?sh)/

const node = newerNode()
needDependencies()
// Ctrl-C in a terminal reaches the program itself.
const signals = process.stdin.isTTY ? ['SIGTERM', 'SIGHUP'] : ['SIGINT', 'SIGTERM', 'SIGHUP']
const env = {
  ...process.env,
  PATH: [dirname(node), process.env.PATH].filter(Boolean).join(delimiter),
  CAUSEWAY_LAUNCHER: String(process.pid),
}
const child = startUnder(node, process.argv.slice(2), { stdio: 'inherit', env, signals })
if (process.env.npm_lifecycle_event !== undefined) hangUpWithNpm()

/** An npm that is killed hands nothing on, nor does the shell that may stand between npm and this process. */
function hangUpWithNpm() {
  const starter = process.ppid
  const npm = SHELL.test(statOf(starter)) ? parentOf(starter) : undefined
  // npm may have ended before this process looks.
  if (adoptsOrphans(npm ?? starter)) child.kill('SIGHUP')
  setInterval(() => {
    if (process.ppid !== starter || (npm !== undefined && parentOf(starter) !== npm)) child.kill('SIGHUP')
  }, LOOK_EVERY_MS).unref()
}

function adoptsOrphans(pid) {
  const stat = statOf(pid)
  return (pid === FIRST && !FIRST_IS_NPM.test(stat)) || SYSTEMD.test(stat)
}

function parentOf(pid) {
  return Number(
    statOf(pid)
      .replace(/^.*\) /s, '')
      .split(' ')[1],
  )
}

/** What Linux says of a process; nothing elsewhere, and of one that has ended. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}
