import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import { usageOf } from '../../../lab/bench/measure/process-usage.ts'
import { post, JSON_TYPE } from '../../../lab/harness/clients/http-sender.ts'
import { freePort } from '../../../lab/harness/free-ports.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { Vitals } from '../vitals.ts'

const MIB = 2 ** 20
/** Nearly the largest that the webhook takes unless it is told otherwise. */
const SIZE = 31 * MIB
/** How much more than its bytes a list may take in memory, and than ordinary events of as many bytes in time. */
const [TIMES_BYTES, TIMES_TIME] = [4, 3]
/** Whatever the size: heaps grow in steps, and other requests come beside it. */
const [CONSTANT_BYTES, CONSTANT_SECONDS] = [100 * MIB, 0.5]
/** How often a list is measured that seems too costly. */
const MEASURED = 4
const LONGEST_MS = 300_000

leaveNothingBehind()

/** A list of events with such items, of about that size. */
function listOf(item: (at: number) => string): Buffer {
  const items: string[] = []
  for (let [at, size] = [0, 0]; size < SIZE; at++) {
    const text = item(at)
    items.push(text)
    size += text.length + 1
  }
  return Buffer.from(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${items.join(',')}]}`)
}

/** As small as it is on the wire; the victim, who is in this process too, waits meanwhile. */
const pack = (list: Buffer): Buffer => gzipSync(list, { level: 1 })

const event = (useless: string): string =>
  `{"level":"Request","stage":"RequestReceived","auditID":"a","verb":"get","responseObject":${useless}}`
const members = (first: number, count: number, value: string): string =>
  `{${Array.from({ length: count }, (_, at) => `"m${(first + at).toString(36)}":${value}`).join(',')}}`

const COSTLY: Record<string, () => Buffer> = {
  'members that differ': () => listOf((at) => event(members(at * 5_000, 5_000, '{}'))),
  'members that differ, twenty to an object': () =>
    listOf((at) =>
      event(`[${Array.from({ length: 250 }, (_, no) => members((at * 250 + no) * 20, 20, '1')).join(',')}]`),
    ),
  'as many members that differ as are taken': () => {
    const [taken, anObject] = [210_000, 20]
    const names = Array.from({ length: taken / anObject }, (_, at) => members(at * anObject, anObject, '1'))
    return listOf((at) =>
      event(at === 0 ? `[${names.join(',')}]` : `[${'{}'.padEnd(60).concat(',').repeat(200)}1]`),
    )
  },
}

test.each(Object.entries(COSTLY))(
  'a list of events with %s costs as much memory as its size allows, and three times the time of ordinary ones',
  async (what, costly) => {
    const port = await freePort()
    const webhook = { endpoint: `127.0.0.1:${port}` }
    await using causeway = await AttackedCauseway.start({
      limitMib: 800,
      patch: {
        receivers: { k8s_audit: { cluster: 'prod', webhook } },
        service: { pipelines: { 'traces/in': { receivers: ['otlp', 'k8s_audit'], exporters: ['cpid'] } } },
      },
    })
    const [ordinary, hostile] = [pack(ordinaryList()), pack(costly())]
    await causeway.withstands(
      async () => {
        for (let attempt = 1; ; attempt++) {
          // First: memory that ordinary ones left would hide what it takes.
          const cost = await costOf(causeway.pid, port, hostile)
          const usual = await costOf(causeway.pid, port, ordinary)
          process.stderr.write(`${what}: ${JSON.stringify(cost)}, ordinary ones: ${JSON.stringify(usual)}\n`)
          expect([200, 400]).toContain(cost.status)
          expect(usual.status).toBe(200)
          expect(cost.bytes).toBeLessThan(TIMES_BYTES * SIZE + CONSTANT_BYTES)
          if (cost.cpuSeconds < TIMES_TIME * usual.cpuSeconds + CONSTANT_SECONDS) break
          // A processor that was slow for a while, or a list that is too costly each time.
          expect(attempt).toBeLessThan(MEASURED)
        }
      },
      { what, longestMs: LONGEST_MS },
    )
  },
  LONGEST_MS,
)

/** What an API server told of a rollout, again and again, of a stage at which nothing is stored. */
function ordinaryList(): Buffer {
  const recording = new URL('../../inference/recordings/rollout/audit.jsonl.gz', import.meta.url)
  const lines = gunzipSync(readFileSync(recording)).toString().trim().split('\n')
  const early = lines.map((line) => line.replace('"stage":"ResponseComplete"', '"stage":"RequestReceived"'))
  return listOf((at) => early[at % early.length] ?? '')
}

interface Cost {
  readonly status: number
  readonly cpuSeconds: number
  /** How much more memory the process had at its most than before. */
  readonly bytes: number
}

async function costOf(pid: number, port: number, packed: Buffer): Promise<Cost> {
  using vitals = new Vitals(pid)
  const memoryBefore = vitals.memoryBytes
  const cpuBefore = usageOf(pid)?.cpuSeconds ?? Number.NaN
  const { status } = await post(port, '/', { ...JSON_TYPE, 'content-encoding': 'gzip' }, packed)
  vitals.look()
  const cpuSeconds = (usageOf(pid)?.cpuSeconds ?? Number.NaN) - cpuBefore
  return { status, cpuSeconds, bytes: vitals.memoryBytes - memoryBefore }
}
