import { openSync, readSync } from 'node:fs'
import { totalmem } from 'node:os'
import { MIB } from '../../model/time-and-size.ts'
import type { Logger } from '../../platform/logger.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { ExtensionHost, RunningExtension, StartedWith } from '../extension-type.ts'
import type { MemoryLimiterSettings } from './memory-limiter-extension.ts'

/** Starts to look at the memory of the process. */
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

export interface MemoryLimits {
  /** The hard limit: above it garbage is collected whenever that may help. */
  limitBytes: number
  /** How far memory may grow from one look to the next; the soft limit is so much below the hard one. */
  spikeBytes: number
  checkIntervalMs: number
}

export interface MemoryHooks {
  /** How much the process takes now, in bytes. Where it throws, what was read before counts until the next look. */
  read: () => number
  /** Told why memory could not be read. Must not throw. */
  unread?: (reason: unknown) => void
  /** Asks for unused memory to be given back; it may take a while. */
  collect: () => void
  /** Whether nothing is being taken in: then refusing frees nothing. */
  isIdle: () => boolean
  /** Told after every look. Must not throw. */
  looked: (limiter: MemoryLimiter) => void
  nowMs: () => number
}

/** Collecting garbage stops a thread for a while, so it is not done more often. */
const MIN_BETWEEN_COLLECTIONS_MS = 10_000
/** Of the limit: so far below the soft limit memory has to fall before requests are taken again. */
const HYSTERESIS = 0.05

/**
 * Watches the memory of the process, after the Collector's memory limiter: above the soft limit requests are to be refused
 * until memory is clearly below it again. Where nothing is being taken in any more and garbage was collected, what is left
 * is what the process works with: then only the hard limit counts, or requests would be refused for ever. Disposing ends the
 * watch.
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
  /** Garbage was collected since requests began to be refused. */
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

  /** Whether requests are to be refused before anything of them is read. */
  get isRefusing(): boolean {
    return this.#isRefusing
  }

  /** As of the last look. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  /** Looks at once. */
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
/** Of the limit, as in the Collector. */
const SPIKE_SHARE = 0.2

/** What a process may have: what its container may, or all there is where nothing limits it. In bytes. */
export function availableMemory(): number {
  const total = totalmem()
  const constrained = process.constrainedMemory()
  return constrained > 0 && constrained < total ? constrained : total
}

/** The limits in bytes, where so much memory may be had. */
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

const PAGE_BYTES = 4096
const MAX_TEXT = 128

/** Held open for as long as the process lives: it has to be readable when no descriptor is left. */
let statm: number | undefined

/**
 * The memory of this process that has to be there, in bytes, over all its threads: on Linux without the files mapped into it,
 * such as node itself, which the system drops when memory is short; elsewhere all that is resident.
 */
export function memoryInUse(): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  statm ??= openSync('/proc/self/statm', 'r')
  const text = Buffer.alloc(MAX_TEXT)
  const [, resident = 0, shared = 0] = text
    .toString('latin1', 0, readSync(statm, text, 0, MAX_TEXT, 0))
    .split(' ')
    .map(Number)
  return (resident - shared) * PAGE_BYTES
}
