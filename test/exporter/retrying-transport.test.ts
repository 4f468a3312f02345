import { expect, test } from '@jest/globals'
import { freePort } from '../../lab/harness/free-ports.ts'
import { type HttpBackend, startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import type { RetryConfig } from '../../src/config/causeway-config.ts'
import { retrying, type RetryNotice, type RetryTools, sleep } from '../../src/exporter/open-transport.ts'
import { openHttpTransport } from '../../src/exporter/otlp-http/http-transport.ts'
import { DELIVERED, refused, retry, scripted } from './scripted-transport.ts'
import { going, httpSettings, REQUEST } from './transport-settings.ts'

const settings: RetryConfig = {
  enabled: true,
  initialIntervalMs: 5000,
  multiplier: 1.5,
  randomizationFactor: 0.5,
  maxIntervalMs: 30_000,
  maxElapsedMs: 0,
}

interface Bench extends RetryTools {
  waits: number[]
  notices: RetryNotice[]
}

/** Time stands still but for the sleeps, of which each ends at once. */
function bench(random = 0.5, onSleep: () => void | Promise<void> = () => undefined): Bench {
  let nowMs = 0
  const waits: number[] = []
  const notices: RetryNotice[] = []
  return {
    waits,
    notices,
    clock: { monotonicMs: () => nowMs },
    random: () => random,
    onRetry: (notice) => notices.push(notice),
    sleep: async (ms) => {
      waits.push(ms)
      nowMs += ms
      await onSleep()
    },
  }
}

test('waits longer each time, up to the longest interval, and never stops by itself', async () => {
  const tools = bench()
  const inner = scripted((_, before) => (before < 8 ? retry() : DELIVERED))
  expect(await retrying(inner, settings, tools).send(REQUEST, going())).toEqual(DELIVERED)
  expect(tools.waits).toEqual([5000, 7500, 11_250, 16_875, 25_313, 30_000, 30_000, 30_000])
  expect(inner.sent.every((request) => request === REQUEST)).toBe(true)
  expect(tools.notices[0]).toEqual({ reason: 'down', delayMs: 5000 })
})

test('a send that must not be retried now answers retry, although it would be given up otherwise, and ends a wait at once', async () => {
  const over = new AbortController()
  const tools: RetryTools = { ...bench(0.5, () => over.abort()), ending: over.signal }
  const inner = scripted(() => retry())
  for (const enabled of [true, false])
    expect(await retrying(inner, { ...settings, enabled }, tools).send(REQUEST, going())).toEqual(retry())
  expect(inner.sent).toHaveLength(2)
  const fresh = new AbortController()
  const waiting = { ...bench(), sleep, ending: fresh.signal, onRetry: () => fresh.abort() }
  expect(
    await retrying(inner, { ...settings, initialIntervalMs: 3_600_000 }, waiting).send(REQUEST, going()),
  ).toEqual(retry())
})

test.each([
  [0, [2500, 3750]],
  [0.999, [7495, 11_243]],
])('spreads the waits by chance %d', async (random, waits) => {
  const tools = bench(random)
  await retrying(
    scripted((_, before) => (before < 2 ? retry() : DELIVERED)),
    settings,
    tools,
  ).send(REQUEST, going())
  expect(tools.waits).toEqual(waits)
})

test('waits at least as long as the backend asked for, and five minutes or the longest interval at most', async () => {
  const asked = [100, 60_000, 1e15, Infinity]
  const inner = scripted((_, before) => (before < 4 ? retry(asked[before]) : DELIVERED))
  const tools = bench()
  await retrying(inner, settings, tools).send(REQUEST, going())
  expect(tools.waits).toEqual([5000, 60_000, 300_000, 300_000])
})

test('a longest interval beyond five minutes is what a backend may ask for', async () => {
  const inner = scripted((_, before) => (before < 1 ? retry(1e15) : DELIVERED))
  const tools = bench()
  await retrying(inner, { ...settings, maxIntervalMs: 900_000 }, tools).send(REQUEST, going())
  expect(tools.waits).toEqual([900_000])
})

test('refuses once another wait would pass the time allowed', async () => {
  const tools = bench()
  const inner = scripted(() => retry())
  expect(await retrying(inner, { ...settings, maxElapsedMs: 12_500 }, tools).send(REQUEST, going())).toEqual({
    kind: 'refused',
    splittable: false,
    reason: 'no more retries left within 12500 ms: down',
  })
  expect(tools.waits).toEqual([5000, 7500])
})

test('each send has the time allowed to itself', async () => {
  const tools = bench()
  const inner = scripted((_, before) => (before % 2 === 0 ? retry() : DELIVERED))
  const transport = retrying(inner, { ...settings, maxElapsedMs: 6000 }, tools)
  expect(await transport.send(REQUEST, going())).toEqual(DELIVERED)
  expect(await transport.send(REQUEST, going())).toEqual(DELIVERED)
  expect(tools.waits).toEqual([5000, 5000])
})

test('refuses at once when retrying is off', async () => {
  const tools = bench()
  const transport = retrying(
    scripted(() => retry()),
    { ...settings, enabled: false },
    tools,
  )
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'refused', splittable: false })
  expect(tools.waits).toEqual([])
})

test('passes a refusal on without trying again', async () => {
  const inner = scripted(() => refused(true))
  expect(await retrying(inner, settings, bench()).send(REQUEST, going())).toEqual(refused(true))
  expect(inner.sent).toHaveLength(1)
})

test('an abort ends the waiting with retry, and refuses nothing', async () => {
  const stop = new AbortController()
  const inner = scripted(() => retry())
  const transport = retrying(
    inner,
    settings,
    bench(0.5, () => stop.abort()),
  )
  expect(await transport.send(REQUEST, stop.signal)).toEqual(retry())
  expect(inner.sent).toHaveLength(1)
  const impatient = retrying(inner, { ...settings, enabled: false, maxElapsedMs: 1 }, bench())
  expect(await impatient.send(REQUEST, stop.signal)).toEqual(retry())
})

test('closes what it wraps', async () => {
  const inner = scripted(() => DELIVERED)
  await retrying(inner, settings, bench())[Symbol.asyncDispose]()
  expect(inner.closed).toBe(1)
})

test('delivers to a backend that comes up between attempts', async () => {
  const port = await freePort()
  const backends: HttpBackend[] = []
  const tools = bench(0.5, async () => {
    backends.push(await startHttpBackend((response) => response.end(), undefined, 'http', port))
  })
  const http = openHttpTransport(httpSettings(`http://127.0.0.1:${port}/v1/traces`), { wallMs: () => 0 })
  await using transport = retrying(http, settings, tools)
  expect(await transport.send(REQUEST, going())).toEqual(DELIVERED)
  expect(tools.notices).toEqual([{ delayMs: 5000, reason: expect.stringContaining('ECONNREFUSED') }])
  expect(backends[0]?.requests).toHaveLength(1)
  await backends[0]?.[Symbol.asyncDispose]()
})
