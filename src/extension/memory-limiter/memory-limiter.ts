import { openSync, readSync } from 'node:fs'
import { totalmem } from 'node:os'
import { MIB } from '../../model/time-and-size.ts'
import type { Logger } from '../../platform/logger.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { ExtensionHost, RunningExtension, StartedWith } from '../extension-type.ts'
import type { MemoryLimiterSettings } from './memory-limiter-extension.ts'

export function startExtension(
  { settings }: StartedWith<MemoryLimiterSettings>,
  { log, metrics, collectGarbage, isIdle }: ExtensionHost,
): Promise<RunningExtension> {
  const limits = memoryLimitsOf(settings, availableMemory())
  const memory = watchMemory(limits, { log, metrics, collect: collectGarbage, isIdle })
  return Promise.resolve({
    memory,
    [Symbol.asyncDispose]: () => {
      memory[Symbol.dispose]()
      return Promise.resolve()
    },
  })
}

const TOLD_AGAIN_MS = 60_000

interface MemoryWatch {
  log: Logger
  metrics: Metrics
  /** Asks every thread to release unused memory. */
  collect: () => void
  isIdle: () => boolean
}

/**
 * Starts the memory limiter. Logs when refusing begins and ends, and once a minute in between. Warns if the limit is below the memory in
 * use at the start, since every request would be refused.
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

interface MemoryLimits {
  /** The hard limit in bytes. Above it, garbage is collected whenever that may help. */
  limitBytes: number
  /** How far memory may grow between two checks. The soft limit is the hard limit minus this. */
  spikeBytes: number
  checkIntervalMs: number
}

interface MemoryHooks {
  /** Reads the memory of the process in bytes. If it throws, the previous value is used until the next check. */
  read: () => number
  /** Called when memory could not be read. Must not throw. */
  unread?: (reason: unknown) => void
  /** Asks all threads to release unused memory, which may take a while. */
  collect: () => void
  /** Whether no request is being received; then refusing frees nothing. */
  isIdle: () => boolean
  /** Called after every check. Must not throw. */
  looked: (limiter: MemoryLimiter) => void
  nowMs: () => number
}

/** The least time between two garbage collections, in milliseconds: each pauses a thread. */
const MIN_BETWEEN_COLLECTIONS_MS = 10_000
/** Refusing ends when memory is below the soft limit by this share of the limit. */
const HYSTERESIS = 0.05

/**
 * Checks the memory of the process, as the Collector's memory limiter does: above the soft limit, requests are refused until memory is
 * clearly below it. If no request is in flight and garbage was collected, only the hard limit applies; otherwise requests might be refused
 * forever. Disposing stops it.
 */
export class MemoryLimiter implements Disposable {
  readonly limitBytes: number
  readonly softBytes: number
  readonly #resumeBytes: number
  readonly #hooks: MemoryHooks
  readonly #timer: NodeJS.Timeout
  #usedBytes = 0
  #isRefusing = false
  #collectedMs = -Infinity
  /** Whether garbage was collected since refusing began. */
  #hasCollected = false

  constructor({ limitBytes, spikeBytes, checkIntervalMs }: MemoryLimits, hooks: MemoryHooks) {
    this.limitBytes = limitBytes
    this.softBytes = limitBytes - spikeBytes
    this.#resumeBytes = this.softBytes - limitBytes * HYSTERESIS
    this.#hooks = hooks
    this.check()
    this.#timer = setInterval(() => this.check(), checkIntervalMs)
    this.#timer.unref()
  }

  /** Whether requests are refused, before they are read. */
  get isRefusing(): boolean {
    return this.#isRefusing
  }

  /** The memory at the last check, in bytes. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  check(): void {
    this.#usedBytes = this.#read()
    const isAboveSoft = this.#usedBytes >= this.softBytes
    const isVain = this.#hasCollected && this.#usedBytes < this.limitBytes && this.#hooks.isIdle()
    if (isAboveSoft) this.#collect()
    else if (!this.#isRefusing) this.#hasCollected = false
    const isHigh = isAboveSoft || (this.#isRefusing && this.#usedBytes > this.#resumeBytes)
    this.#isRefusing = isHigh && !isVain
    this.#hooks.looked(this)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #read(): number {
    try {
      return this.#hooks.read()
    } catch (error) {
      this.#hooks.unread?.(error)
      return this.#usedBytes
    }
  }

  #collect(): void {
    const nowMs = this.#hooks.nowMs()
    if (nowMs - this.#collectedMs < MIN_BETWEEN_COLLECTIONS_MS) return
    this.#collectedMs = nowMs
    this.#hasCollected = true
    this.#hooks.collect()
  }
}

const PERCENT = 0.01
/** The default spike limit as a share of the limit, as in the Collector. */
const SPIKE_SHARE = 0.2

/** The memory of the container or, without a limit, of the machine, in bytes. */
function availableMemory(): number {
  const total = totalmem()
  const constrained = process.constrainedMemory()
  return constrained > 0 && constrained < total ? constrained : total
}

/** The limits in bytes for this much available memory. */
export function memoryLimitsOf(config: MemoryLimiterSettings, totalBytes: number): MemoryLimits {
  const { checkIntervalMs, limitMib, spikeLimitMib, limitPercentage, spikeLimitPercentage } = config
  if (limitMib !== undefined) {
    const limitBytes = limitMib * MIB
    const spikeBytes = spikeLimitMib === undefined ? limitBytes * SPIKE_SHARE : spikeLimitMib * MIB
    return { limitBytes, spikeBytes, checkIntervalMs }
  }
  const spikePercentage = spikeLimitPercentage ?? limitPercentage * SPIKE_SHARE
  return {
    limitBytes: totalBytes * limitPercentage * PERCENT,
    spikeBytes: totalBytes * spikePercentage * PERCENT,
    checkIntervalMs,
  }
}

const MAX_TEXT = 128

/** The file descriptor of /proc/self/statm. It stays open, so that it works when no more descriptors are available. */
let statm: number | undefined
let pageBytes: number | undefined

/**
 * The memory of this process with all its threads, in bytes. On Linux without mapped files such as node itself, which the kernel drops when
 * memory is short; on other systems all resident memory.
 */
export function memoryInUse(): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  statm ??= openSync('/proc/self/statm', 'r')
  const text = Buffer.alloc(MAX_TEXT)
  const [, resident = 0, shared = 0] = text
    .toString('latin1', 0, readSync(statm, text, 0, MAX_TEXT, 0))
    .split(' ')
    .map(Number)
  pageBytes ??= pageBytesOf(process.memoryUsage.rss(), resident)
  return (resident - shared) * pageBytes
}

/** The page size, which Node does not expose: 4 KiB on most machines, up to 64 KiB on some ARM and POWER machines. */
export function pageBytesOf(bytes: number, pages: number): number {
  return 2 ** Math.round(Math.log2(bytes / pages))
}
