import { memoryInUse } from './memory-in-use.ts'
import { MemoryLimiter, type MemoryLimits } from './memory-limiter.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { MIB } from '../../model/sizes.ts'

const TOLD_AGAIN_MS = 60_000

export interface MemoryWatch {
  log: Logger
  metrics: Metrics
  /** Has every thread give unused memory back. */
  collect: () => void
  isIdle: () => boolean
}

/**
 * Starts the memory limiter: it says when it begins and ends to refuse, and once a minute while it does. A limit below what is
 * in use when nobody has sent anything yet is warned of, since nothing would ever be taken.
 */
export function watchMemory(
  limits: MemoryLimits,
  { log, metrics, collect, isIdle }: MemoryWatch,
): MemoryLimiter {
  const nowMs = (): number => performance.now()
  let toldMs = -Infinity
  let isToldOf = false
  const tell = ({ isRefusing, usedBytes, softBytes, limitBytes }: MemoryLimiter): void => {
    const fields = { cur_mem_mib: mib(usedBytes), soft_limit_mib: mib(softBytes), limit_mib: mib(limitBytes) }
    if (isRefusing && nowMs() - toldMs >= TOLD_AGAIN_MS) {
      toldMs = nowMs()
      isToldOf = true
      const where = usedBytes >= limitBytes ? 'hard' : 'soft'
      log.warn(`Memory usage is above ${where} limit. Refusing data.`, fields)
    }
    if (isToldOf && !isRefusing) {
      isToldOf = false
      log.info('Memory usage back within limits. Resuming normal operation.', fields)
    }
  }
  const limiter = new MemoryLimiter(limits, {
    read: memoryInUse,
    collect,
    isIdle,
    unread: (reason) => log.error('Memory usage cannot be read.', { reason: String(reason) }),
    looked: tell,
    nowMs,
  })
  const { usedBytes, softBytes, limitBytes } = limiter
  log.info('Memory limiter configured', {
    limit_mib: mib(limitBytes),
    spike_limit_mib: mib(limitBytes - softBytes),
    check_interval: `${limits.checkIntervalMs}ms`,
  })
  if (usedBytes >= softBytes)
    log.warn(
      `The memory limit is too low: ${mib(usedBytes)} MiB are in use before anything was sent, and requests are refused from ` +
        `${mib(softBytes)} MiB on. Give the container more memory, or write a larger extensions::memory_limiter::limit_mib.`,
    )
  metrics.set('cpid_memory_limit_bytes', limitBytes)
  metrics.set('cpid_memory_soft_limit_bytes', softBytes)
  metrics.beforeScrape(() => {
    metrics.set('cpid_memory_used_bytes', memoryInUse())
    metrics.set('cpid_memory_refusing', limiter.isRefusing ? 1 : 0)
  })
  return limiter
}

const mib = (bytes: number): string => String(Math.round(bytes / MIB))
