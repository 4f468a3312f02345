import { readFileSync } from 'node:fs'

/** What Causeway opens by itself at most: threads, database, WAL, files that it follows, connections to backends. */
const OWN_FILES = 90
/** A listener with less could not tell a flood from those that it is there for. */
const MIN_CONNECTIONS = 4
const SOFT_LIMIT = /^Max open files\s+(\d+)/m

/** How many connections a listener may have, in all and from one address. */
export interface ConnectionQuota {
  max: number
  maxPerAddress: number
}

export interface FittedQuotas {
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
  const wanted = configured.reduce((sum, { max }) => sum + max, 0)
  if (openFiles === undefined || wanted + OWN_FILES <= openFiles)
    return { places: [...configured], warning: undefined }
  const least = configured.map(({ max }) => Math.min(max, MIN_CONNECTIONS))
  const reserved = least.reduce((sum, count) => sum + count, 0)
  const share = Math.max(0, openFiles - OWN_FILES - reserved) / Math.max(1, wanted - reserved)
  const places = configured.map(({ max, maxPerAddress }, at) => {
    const fewest = least[at] ?? max
    const fitted = fewest + Math.floor((max - fewest) * share)
    return { max: fitted, maxPerAddress: Math.max(1, Math.floor((fitted * maxPerAddress) / max)) }
  })
  const left = places.reduce((sum, { max }) => sum + max, 0)
  const warning =
    `this process may have ${openFiles} files open, which is too few for the ${wanted} connections that are configured: ` +
    `listeners take ${left} in all until it may have ${wanted + OWN_FILES} (ulimit -n, LimitNOFILE)`
  return { places, warning }
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
