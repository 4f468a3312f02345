import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const KIB_PER_MIB = 1024

/** What Linux says of a process; on other systems nothing is known and these figures are left out. */
interface ProcessUsage {
  cpuSeconds: number
  /** The same of each thread. */
  threads: Map<string, number>
  rssMib: number
  peakRssMib: number
  /** Memory of its own, without files mapped into it such as node itself. */
  ownMib: number
}

export function usageOf(pid: number): ProcessUsage | undefined {
  const status = readProc(`/proc/${pid}/status`)
  const stat = readProc(`/proc/${pid}/stat`)
  if (status === undefined || stat === undefined) return undefined
  const mib = (key: string): number =>
    Number(new RegExp(`^${key}:\\s*(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / KIB_PER_MIB
  const threads = readdirSync(`/proc/${pid}/task`).map((thread): [string, number] => [
    thread,
    cpuSecondsIn(readProc(`/proc/${pid}/task/${thread}/stat`) ?? ''),
  ])
  return {
    cpuSeconds: cpuSecondsIn(stat),
    threads: new Map(threads),
    rssMib: mib('VmRSS'),
    peakRssMib: mib('VmHWM'),
    ownMib: mib('RssAnon'),
  }
}

/** What one process used between two looks at it, and other programs meanwhile. */
interface CpuUse {
  seconds: number
  /** Of the busiest thread, which bounds what the process can do however many cores there are. */
  busiestThreadSeconds: number
  /** Of the whole machine. */
  machineSeconds: number
}

/** Begins to watch a process; the function it gives tells what was used since. Unknown figures are NaN. */
export function watchCpu(pid: number): () => CpuUse {
  const before = usageOf(pid)
  const machineBefore = machineCpuSeconds()
  return () => {
    const after = usageOf(pid)
    const used = [...(after?.threads ?? [])].map(
      ([thread, seconds]) => seconds - (before?.threads.get(thread) ?? 0),
    )
    return {
      seconds: (after?.cpuSeconds ?? Number.NaN) - (before?.cpuSeconds ?? Number.NaN),
      busiestThreadSeconds: used.length === 0 ? Number.NaN : Math.max(...used),
      machineSeconds: (machineCpuSeconds() ?? Number.NaN) - (machineBefore ?? Number.NaN),
    }
  }
}

function cpuSecondsIn(stat: string): number {
  // The name in brackets may hold spaces; utime and stime are the 12th and 13th field after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND
}

/** Processor time all processes of the machine have used together. */
function machineCpuSeconds(): number | undefined {
  const line = readProc('/proc/stat')?.split('\n', 1)[0]
  if (line === undefined) return undefined
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0] = line
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts) / TICKS_PER_SECOND
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
