import { execFileSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import {
  memoryLimitsOf,
  pageBytesOf,
  watchMemory,
} from '../../src/extension/memory-limiter/memory-limiter.ts'
import { createLogger } from '../../src/platform/logger.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { systemClock } from '../../src/platform/system-clock.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30

function watch(limitBytes: number) {
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  const log = createLogger({ level: 'info', encoding: 'console', clock: systemClock, caller: 'test', write })
  const metrics = createMetrics({ serviceName: 'test', serviceVersion: '0', serviceInstanceId: '0' })
  let collected = 0
  const limits = { limitBytes, spikeBytes: limitBytes / 5, checkIntervalMs: 3_600_000 }
  const limiter = watchMemory(limits, { log, metrics, collect: () => collected++, isIdle: () => false })
  return { limiter, lines, metrics, collected: () => collected }
}

test('a limit below what is in use at rest is warned of, and refusing is told of once', async () => {
  const { limiter: watching, lines, metrics, collected } = watch(10 * MIB)
  using limiter = watching
  expect(limiter.isRefusing).toBe(true)
  for (let looks = 0; looks < 5; looks++) limiter.check()
  expect(
    lines.filter((line) => line.includes('Memory usage is above hard limit. Refusing data.')),
  ).toHaveLength(1)
  expect(lines.join('\n')).toMatch(
    /The memory limit is too low: \d+ MiB are in use before anything was sent, .*memory_limiter::limit_mib/,
  )
  expect(collected()).toBe(1)
  expect(await metrics.scrape()).toMatch(/^cpid_memory_refusing 1$/m)
})

test('with memory enough nothing is refused', async () => {
  const { limiter: watching, lines, metrics } = watch(100 * GIB)
  using limiter = watching
  expect(limiter.isRefusing).toBe(false)
  expect(lines).toHaveLength(1)
  const text = await metrics.scrape()
  expect(text).toMatch(/^cpid_memory_refusing 0$/m)
  expect(text).toMatch(new RegExp(`^cpid_memory_limit_bytes ${100 * GIB}$`, 'm'))
})

// In a process of its own, which has no freed memory lying about.
test('memory that is taken counts', () => {
  const module = new URL('../../src/extension/memory-limiter/memory-limiter.ts', import.meta.url).href
  const code = `import { memoryInUse } from ${JSON.stringify(module)}
    const before = memoryInUse()
    const taken = Buffer.alloc(${100 * MIB}, 1)
    console.log(memoryInUse() - before, taken.length)`
  const shown = execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', code])
  expect(parseInt(shown.toString())).toBeGreaterThan(50 * MIB)
})

test.each([4_096, 16_384, 65_536])(
  'pages of %i bytes are recognised, though memory grows meanwhile',
  (page) => {
    for (const grown of [0.9, 1, 1.1]) expect(pageBytesOf(3_000 * page * grown, 3_000)).toBe(page)
  },
)

test.each([
  [{ limitPercentage: 80 }, 800, 160],
  [{ limitPercentage: 50, spikeLimitPercentage: 20 }, 500, 200],
  [{ limitPercentage: 80, limitMib: 400 }, 400, 80],
  [{ limitPercentage: 80, limitMib: 400, spikeLimitMib: 100 }, 400, 100],
])('%j of 1000 MiB is a limit of %i MiB, %i of it for spikes', (config, limitMib, spikeMib) => {
  const { limitBytes, spikeBytes } = memoryLimitsOf({ checkIntervalMs: 1_000, ...config }, 1_000 * MIB)
  expect(limitBytes / MIB).toBeCloseTo(limitMib)
  expect(spikeBytes / MIB).toBeCloseTo(spikeMib)
})
