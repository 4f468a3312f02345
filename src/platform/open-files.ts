import { readFileSync } from 'node:fs'
import { openAtMost } from './connections.ts'

/** The most files that Causeway itself opens: threads, database, WAL, followed files, connections to backends. */
const OWN_FILES = 90
/** The fewest connections that a listener needs. */
const MIN_CONNECTIONS = 4
const SOFT_LIMIT = /^Max open files\s+(\d+)/m

/** How often a share is halved to find the largest that fits. */
const SEARCH_STEPS = 20

/** The most connections with a request in progress, in all and from one address. */
export interface ConnectionQuota {
  max: number
  maxPerAddress: number
}

interface FittedQuotas {
  quotas: ConnectionQuota[]
  /** What to change when the configured ones do not fit. */
  warning: string | undefined
}

/** How many files this process may have open; undefined without a limit, or if it is unknown. */
export function openFilesLimit(): number | undefined {
  if (process.platform === 'win32') return undefined
  const soft = process.platform === 'linux' ? SOFT_LIMIT.exec(readLimits())?.[1] : reportedLimit()
  const limit = Number(soft)
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined
}

/**
 * Quotas for all listeners that fit into the file descriptors, with enough left for Causeway itself: as configured if that fits,
 * else reduced in proportion.
 */
export function fitQuotas(
  configured: readonly ConnectionQuota[],
  openFiles: number | undefined,
): FittedQuotas {
  const wanted = filesFor(configured)
  if (openFiles === undefined || wanted + OWN_FILES <= openFiles)
    return { quotas: [...configured], warning: undefined }
  const quotas = largestThatFit(configured, openFiles - OWN_FILES)
  const warning =
    `this process may have ${openFiles} files open, too few for the ${wanted} connections that the configuration allows: ` +
    `all listeners together accept ${filesFor(quotas)} until it may have ${wanted + OWN_FILES} (ulimit -n, LimitNOFILE)`
  return { quotas, warning }
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

/** This share of the configured limit, and never fewer than a listener needs. */
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
 * Keeps the process alive after an unhandled error for lack of a file descriptor, such as in a timer: the work that failed is retried later.
 * All other unhandled errors end the process as usual.
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

/** Whether the process or the machine had no file descriptor left. */
function isDescriptorExhaustion(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    EXHAUSTED.includes(error.code)
  )
}
