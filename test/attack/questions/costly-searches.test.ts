import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { askOver, type AskingChoice } from './asking.ts'

const SPANS = 2_000
const BATCH = 200
const TEXT = 4_000
const FOR_MS = 8_000
const AT_ONCE = 16

/** What takes long, what takes much memory, what is too large, and what no object should find. */
const CONDITIONS = [
  '.note =~ ".*a.{990}b"',
  '.note =~ "((a{1,10}){1,10}){1,10}"',
  '.note =~ "(?:.?){1000}"',
  '.note =~ "(.*a){12}" || .note =~ "(a|aa)+" || .note !~ "(a+)+"',
  '.note =~ "(x{1,1000}){1,1000}"',
  `.note =~ "${'(.?){1000}'.repeat(20)}"`,
  `.note =~ "${'a'.repeat(300)}"`,
  'constructor = "x"',
  '__proto__ = "x" || .__proto__ = "x"',
  `${'!('.repeat(49)}.note = "x"${')'.repeat(49)}`,
]
const FRAMED: AskingChoice['headers'] = {
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'iframe',
}
const PATHS = CONDITIONS.map(
  (condition) => `/api/search?${new URLSearchParams({ q: `{ ${condition} }` }).toString()}`,
)

leaveNothingBehind()

async function fill(port: number): Promise<void> {
  using sender = new GrpcSender(port)
  await sender.export('logs', mergelogsRequest('kubectl', [{ new: cpid(1) }]))
  const texts = Array.from({ length: 7 }, (_, kind) =>
    Array.from({ length: TEXT }, (__, at) => ((at * at + kind * at) % 7 < 3 ? 'a' : 'b')).join(''),
  )
  for (let from = 0; from < SPANS; from += BATCH) {
    const spans = Array.from({ length: BATCH }, (_, at) => ({
      trace: from + 1,
      id: from + at + 1,
      cpid: cpid(1),
      attributes: { note: texts[at % texts.length] },
    }))
    await sender.export('traces', spansRequest('web', spans))
  }
}

async function askAll(
  port: number,
  signal: AbortSignal,
  choice: AskingChoice,
): Promise<Set<number | undefined>> {
  const seen = new Set<number | undefined>()
  let next = 0
  const askers = Array.from({ length: AT_ONCE }, async () => {
    while (!signal.aborted) seen.add(await askOver(port, PATHS[next++ % PATHS.length] ?? '/', choice))
  })
  await Promise.all(askers)
  return seen
}

test('searches that take as much as they can, and whose askers hang up', async () => {
  await using causeway = await AttackedCauseway.start()
  await fill(causeway.settings.ports.grpc)
  await causeway.withstands(
    async ({ ports }, signal) => {
      const seen = await askAll(ports.query, signal, { hangUpAfterMs: 300 })
      expect([...seen].filter((status) => status !== undefined && ![200, 400, 503].includes(status))).toEqual(
        [],
      )
      expect(seen).toContain(400)
    },
    { what: 'costly searches', longestMs: FOR_MS },
  )
  expect(causeway.errors.split('\n').filter((line) => line.includes('could not be answered'))).toEqual([])
})

test('the same through frames of a foreign page', async () => {
  await using causeway = await AttackedCauseway.start()
  await fill(causeway.settings.ports.grpc)
  await causeway.withstands(
    async ({ ports }, signal) => {
      const seen = await askAll(ports.query, signal, { headers: FRAMED })
      expect([...seen].filter((status) => status !== undefined)).toEqual([403])
    },
    { what: 'framed searches', longestMs: FOR_MS / 2 },
  )
})
