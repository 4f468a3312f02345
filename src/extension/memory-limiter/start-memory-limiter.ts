import type { ExtensionHost, RunningExtension, StartedWith } from '../extension-type.ts'
import type { MemoryLimiterSettings } from './memory-limiter-extension.ts'
import { availableMemory, memoryLimitsOf } from './memory-limits.ts'
import { watchMemory } from './watch-memory.ts'

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
