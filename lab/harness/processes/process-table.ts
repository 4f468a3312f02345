import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

interface RunningProcess {
  pid: number
  parent: number
  group: number
  /** Its command line. */
  args: string
}

/** The ids of the living processes whose command line holds a text. */
export async function processesWith(text: string): Promise<number[]> {
  return (await processTable()).filter(({ args }) => args.includes(text)).map(({ pid }) => pid)
}

/** The ids of the living children of a process. */
export async function childrenOf(pid: number): Promise<number[]> {
  return (await processTable()).filter(({ parent }) => parent === pid).map((child) => child.pid)
}

/** The living processes of a process group, to which those that a program starts belong as well. */
export async function processesOfGroup(group: number): Promise<RunningProcess[]> {
  return (await processTable()).filter((one) => one.group === group)
}

/** Without zombies, which have ended; only nobody has asked how. */
async function processTable(): Promise<RunningProcess[]> {
  if (existsSync('/proc/self/stat')) return readdirSync('/proc').flatMap(readProcess)
  const columns = 'pid=,ppid=,pgid=,stat=,args='
  const { stdout } = await promisify(execFile)('ps', ['-Awwo', columns], { maxBuffer: 2 ** 26 })
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, group, state, args = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (state === undefined || state.startsWith('Z')) return []
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), args }]
  })
}

/** As Linux tells it, also where no `ps` is installed. */
function readProcess(pid: string): RunningProcess[] {
  if (!/^\d+$/.test(pid)) return []
  try {
    // The command, in parentheses, may hold spaces and parentheses itself.
    const [, rest = ''] = /^.*\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    const [state = '', parent, group] = rest.split(' ')
    if (state === 'Z' || state === 'X') return []
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), args }]
  } catch {
    // It has ended since.
    return []
  }
}
