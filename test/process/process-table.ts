import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The ids of the living processes whose command line holds a text. */
export async function processesWith(text: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-Awwo', 'pid=,stat=,args='], { maxBuffer: 2 ** 26 })
  const found: number[] = []
  for (const line of stdout.split('\n')) {
    const [, pid, stat, args] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    // A zombie has ended; only nobody has asked how.
    if (args?.includes(text) === true && stat?.startsWith('Z') === false) found.push(Number(pid))
  }
  return found
}

/** The ids of the living children of a process. */
export async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-Awwo', 'ppid=,pid=,stat='], { maxBuffer: 2 ** 26 })
  return stdout.split('\n').flatMap((line) => {
    const [parent, child, stat] = line.trim().split(/\s+/)
    return Number(parent) === pid && stat?.startsWith('Z') === false ? [Number(child)] : []
  })
}
