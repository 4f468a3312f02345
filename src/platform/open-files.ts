import { readFileSync } from 'node:fs'
import { openAtMost } from './connections.ts'

/** What Causeway opens by itself at most: threads, database, WAL, files that it follows, connections to backends. */
const OWN_FILES = 90
/** A listener with less could not tell a flood from those that it is there for. */
const MIN_CONNECTIONS = 4
const SOFT_LIMIT = /^Max open files\s+(\d+)/m

/** How often a share is halved to find the largest that fits. */
const SEARCH_STEPS = 20

/** How many connections with a request under way a listener may have, in all and from one address. */
export interface ConnectionQuota {
  max: number
  maxPerAddress: number
}

interface FittedQuotas {
  places: ConnectionQuota[]
  /** What to change when the configured ones do not fit. */
  warning: string | undefined
}

/** How many files this process may have open; undefined where nothing limits it, or nothing can be known. */
export function openFilesLimit(): number | undefined {
  if (process.platform === 'win32') return undefined
  const soft = process.platform === 'linux' ? SOFT_LIMIT.exec(readLimits())?.[1] : reportedLimit()
  const limit = Number(soft)
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined
}

/**
 * The places of all listeners such that there is a descriptor for each, and enough left for what Causeway opens itself: as
 * configured where that fits, in proportion where it does not.
 */
export function fitQuotas(
  configured: readonly ConnectionQuota[],
  openFiles: number | undefined,
): FittedQuotas {
  const wanted = filesFor(configured)
  if (openFiles === undefined || wanted + OWN_FILES <= openFiles)
    return { places: [...configured], warning: undefined }
  const places = largestThatFit(configured, openFiles - OWN_FILES)
  const warning =
    `this process may have ${openFiles} files open, which is too few for the ${wanted} connections that may be open as configured: ` +
    `listeners open ${filesFor(places)} in all until it may have ${wanted + OWN_FILES} (ulimit -n, LimitNOFILE)`
  return { places, warning }
}

const filesFor = (quotas: readonly ConnectionQuota[]): number =>
  quotas.reduce((sum, { max }) => sum + openAtMost(max), 0)

function largestThatFit(configured: readonly ConnectionQuota[], files: number): ConnectionQuota[] {
  let [fits, tooLarge] = [0, 1]
  for (let step = 0; step < SEARCH_STEPS; step++) {
    const share = (fits + tooLarge) / 2
    if (filesFor(shareOf(configured, share)) <= files) fits = share
    else tooLarge = share
  }
  return shareOf(configured, fits)
}

/** Such a share of what is configured, and never fewer than a listener needs. */
function shareOf(configured: readonly ConnectionQuota[], share: number): ConnectionQuota[] {
  return configured.map(({ max, maxPerAddress }) => {
    const fewest = Math.min(max, MIN_CONNECTIONS)
    const fitted = fewest + Math.floor((max - fewest) * share)
    return { max: fitted, maxPerAddress: Math.max(1, Math.floor((fitted * maxPerAddress) / max)) }
  })
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return ''
  }
}

function reportedLimit(): number | string | undefined {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } }
  return report.userLimits?.open_files?.soft
}

const EXHAUSTED = ['EMFILE', 'ENFILE']

/**
 * Has the process live on when something fails for want of a descriptor and nobody is there to hear of it, such as in a
 * timer: what failed is done again the next time. Everything else that nobody handles ends the process, as without this.
 */
export function surviveDescriptorExhaustion(tell: (reason: string) => void): void {
  process.on('uncaughtException', (error: unknown) => {
    if (isDescriptorExhaustion(error)) {
      tell(error.message)
      return
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`${text}\n`)
    process.exit(1)
  })
}

/** Whether a descriptor was wanted and the process, or the machine, had none left. */
function isDescriptorExhaustion(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    EXHAUSTED.includes(error.code)
  )
}
