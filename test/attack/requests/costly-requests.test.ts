import { gzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { usageOf } from '../../../lab/bench/measure/process-usage.ts'
import type { CausewaySettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { JSON_TYPE, post, PROTOBUF, send } from '../../../lab/harness/clients/http-sender.ts'
import { sendRawGrpc } from '../../../lab/harness/clients/raw-grpc.ts'
import { EXPORT_METHODS } from '../../../lab/harness/export-methods.ts'
import { fieldHeader } from '../../../src/model/otlp/outgoing-records.ts'
import { type HostileRequest, hostileRequests } from '../../support/hostile/hostile-requests.ts'
import { ordinaryRequest } from '../../support/hostile/ordinary-request.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { Vitals } from '../vitals.ts'

const MIB = 2 ** 20
/** Nearly the largest that receivers take unless they are told otherwise. */
const LARGEST = 60 * MIB
const DRAWN_SIZE = 8 * MIB
const DRAWN = 20
const LONGEST_MS = 900_000
/** How much more than its unpacked bytes a request may take in memory, and than ordinary spans of as many bytes in time. */
const TIMES_BYTES = 4
const TIMES_TIME = 3
/** Whatever the size: heaps grow in steps, and other requests come beside it. */
const CONSTANT_BYTES = 100 * MIB
const CONSTANT_SECONDS = 0.5
/** How often a request is measured that seems too costly. */
const MEASURED = 4
/** What such a memory limiter has, with room for what the process takes at rest. */
const LIMIT_MIB = 800
/** Answers for which the sender comes again: there is no room while the one before is being ended. */
const COME_AGAIN = new Set([429, 503])
const TRIES = 200

leaveNothingBehind()

const ALL = (['traces', 'logs'] as const).flatMap((signal) =>
  (['protobuf', 'json'] as const).flatMap((encoding) => hostileRequests(signal, encoding)),
)

const KNOWN = [
  'traces protobuf empty .resourceSpans',
  'logs protobuf empty .resourceLogs',
  'traces protobuf empty .resourceSpans.scopeSpans',
  'logs protobuf empty .resourceLogs.scopeLogs.logRecords',
  'traces json empty .resourceSpans',
  'traces json empty .resourceSpans.scopeSpans.spans.attributes',
  'traces protobuf smallest .resourceSpans.scopeSpans.spans.events',
  'traces protobuf empty .resourceSpans.scopeSpans.spans.links',
  'traces protobuf empty .resourceSpans.scopeSpans.spans.attributes[cpid.wrote].value.arrayValue.values',
  'traces protobuf large .resourceSpans.resource.attributes[service.name].value.stringValue',
].map((name) => ALL.find((request) => request.name === name) ?? fail(name))

function fail(name: string): never {
  throw new Error(`there is no ${name}`)
}

/** Sends a request, compressed, until it is answered with more than to come again; resolves to the status. */
async function status(
  { ports }: CausewaySettings,
  { signal, encoding }: Pick<HostileRequest, 'signal' | 'encoding'>,
  body: Buffer,
): Promise<number> {
  const headers = { ...(encoding === 'json' ? JSON_TYPE : PROTOBUF), 'content-encoding': 'gzip' }
  for (let tries = 0; ; tries++) {
    const answer = await post(ports.http, `/v1/${signal}`, headers, body)
    if (!COME_AGAIN.has(answer.status) || tries === TRIES) return answer.status
  }
}

/** As small as it is on the wire; the victim, who is in this process too, waits meanwhile. */
const pack = (body: Buffer): Buffer => gzipSync(body, { level: 1 })

interface Cost {
  readonly status: number
  readonly cpuSeconds: number
  /** How much more memory the process had at its most than before. */
  readonly bytes: number
}

async function costOf(
  causeway: AttackedCauseway,
  sent: Pick<HostileRequest, 'signal' | 'encoding'>,
  packed: Buffer,
): Promise<Cost> {
  using before = new Vitals(causeway.pid)
  const { memoryBytes } = before
  const cpuBefore = usageOf(causeway.pid)?.cpuSeconds ?? Number.NaN
  using vitals = new Vitals(causeway.pid)
  const answered = await status(causeway.settings, sent, packed)
  vitals.look()
  const cpuSeconds = (usageOf(causeway.pid)?.cpuSeconds ?? Number.NaN) - cpuBefore
  return { status: answered, cpuSeconds, bytes: vitals.memoryBytes - memoryBytes }
}

/** CPU seconds of ordinary spans of this size. */
async function ordinarySeconds(
  causeway: AttackedCauseway,
  encoding: HostileRequest['encoding'],
  packed: Buffer,
): Promise<number> {
  const { status: answered, cpuSeconds } = await costOf(causeway, { signal: 'traces', encoding }, packed)
  expect(answered).toBe(200)
  return cpuSeconds
}

test(
  'no field of a request costs more than a few times what ordinary spans cost, and a victim is answered meanwhile',
  async () => {
    await using causeway = await AttackedCauseway.start({ limitMib: LIMIT_MIB })
    const seed = Date.now() % 1_000_000
    // Made before: the victim is in this process too, and would wait meanwhile.
    const attacks = [...KNOWN, ...fc.sample(fc.constantFrom(...ALL), { numRuns: DRAWN, seed })].map(
      (request) => ({ request, packed: pack(request.bytes(DRAWN_SIZE)) }),
    )
    const ordinary = {
      protobuf: pack(ordinaryRequest(DRAWN_SIZE, 'protobuf')),
      json: pack(ordinaryRequest(DRAWN_SIZE, 'json')),
    }
    await causeway.withstands(
      async () => {
        const usual = {
          protobuf: await ordinarySeconds(causeway, 'protobuf', ordinary.protobuf),
          json: await ordinarySeconds(causeway, 'json', ordinary.json),
        }
        for (const { request, packed } of attacks) {
          const { encoding } = request
          for (let attempt = 1; ; attempt++) {
            const { bytes, cpuSeconds, status: answered } = await costOf(causeway, request, packed)
            const cost = `${answered}, ${cpuSeconds.toFixed(2)} s, ${Math.round(bytes / MIB)} MiB`
            process.stderr.write(`${request.name}: ${cost}\n`)
            expect([200, 400]).toContain(answered)
            expect(bytes).toBeLessThan(DRAWN_SIZE * TIMES_BYTES + CONSTANT_BYTES)
            const isCostly = cpuSeconds >= usual[encoding] * TIMES_TIME + CONSTANT_SECONDS
            if (!isCostly) break
            // A processor that was slow for a while, or a request that is too costly each time.
            expect(attempt).toBeLessThan(MEASURED)
            usual[encoding] = await ordinarySeconds(causeway, encoding, ordinary[encoding])
          }
        }
      },
      { what: `requests of which one field is too much, seed ${seed}`, longestMs: LONGEST_MS },
    )
  },
  LONGEST_MS,
)

test.each(KNOWN.map((request) => [request.name, request] as const))(
  'as large as a request may be: %s',
  async (what, request) => {
    await using causeway = await AttackedCauseway.start({ limitMib: LIMIT_MIB })
    const payload = pack(request.bytes(LARGEST))
    await causeway.withstands(
      async ({ ports }) => {
        const cost = await costOf(causeway, request, payload)
        process.stderr.write(
          `${cost.cpuSeconds.toFixed(2)} s, ${Math.round(cost.bytes / MIB)} MiB, ${cost.status}\n`,
        )
        expect([200, 400]).toContain(cost.status)
        expect(cost.bytes).toBeLessThan(LARGEST * TIMES_BYTES + CONSTANT_BYTES)
        if (request.encoding === 'json') return
        const { path } = EXPORT_METHODS[request.signal]
        await sendRawGrpc(ports.grpc, { path, encoding: 'gzip', payload })
      },
      { what, longestMs: 60_000 },
    )
  },
)

test('names as long as requests are kept whole, cost no others anything, and are listed cut', async () => {
  await using causeway = await AttackedCauseway.start({ limitMib: LIMIT_MIB })
  const request =
    ALL.find(({ name }) => name === 'traces protobuf smallest .resourceSpans.scopeSpans.spans') ??
    fail('spans')
  const named = (at: number): Buffer => {
    const name = Buffer.alloc(LARGEST, `${at} is a long name `)
    const value = field(1, name)
    const keyValue = Buffer.concat([field(1, Buffer.from('service.name')), field(2, value)])
    const resource = field(1, field(1, keyValue))
    const span = Buffer.concat([field(1, Buffer.alloc(16, at + 1)), field(2, Buffer.alloc(8, 1))])
    return field(1, Buffer.concat([resource, field(2, field(2, span))]))
  }
  const bodies = Array.from({ length: 6 }, (_, at) => pack(named(at)))
  await causeway.withstands(
    async (settings) => {
      for (const body of bodies) expect(await status(settings, request, body)).toBe(200)
      for (const path of [
        '/api/v1/facets',
        '/jaeger/api/services',
        '/tempo/api/search/tag/service.name/values',
        '/tempo/api/v2/search/tag/resource.service.name/values',
      ]) {
        const { status: answered, body } = await send(settings.ports.query, path, {})
        expect({ path, answered }).toEqual({ path, answered: 200 })
        expect(body.length).toBeLessThan(MIB)
        expect(body.toString()).toContain('0 is a long name')
      }
    },
    { what: 'names of 60 MiB', longestMs: 60_000 },
  )
})

function field(no: number, content: Buffer): Buffer {
  return Buffer.concat([fieldHeader(no, content.length), content])
}
