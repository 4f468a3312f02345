import { totalmem } from 'node:os'
import type { MemoryLimiterSettings } from './memory-limiter-extension.ts'
import type { MemoryLimits } from './memory-limiter.ts'
import { MIB } from '../../model/sizes.ts'

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
