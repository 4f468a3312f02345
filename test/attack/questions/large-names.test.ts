import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { JSON_TYPE, post } from '../../../lab/harness/clients/http-sender.ts'
import { LONGEST_ANSWER, largeNames, largeNamesQuestions } from '../../support/hostile/large-names.ts'
import { START_NS } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const START_MS = Number(START_NS / 1_000_000n)
const AT_ONCE = 4
const DRAWN = 200
const FOR_MS = 15_000
/** Of a series for each of very many intervals, sorted again and again. */
const STAGES = Array.from({ length: 300 }, (_, at) => `topk(${400 - at})`).join(' | ')

leaveNothingBehind()

test('questions that show texts as long as a request with each span, and stages without an end', async () => {
  await using causeway = await AttackedCauseway.start({ linking: { wait: '1s', settle_after: '2s' } })
  const { ports } = causeway.settings
  const { status } = await post(ports.http, '/v1/traces', JSON_TYPE, largeNames(START_MS))
  expect(status).toBe(200)
  const seconds = Math.floor(START_MS / 1_000)
  const staged = `/tempo/api/metrics/query_range?${new URLSearchParams({
    q: `{} | rate() by (span:id) | ${STAGES}`,
    ...{ start: String(seconds - 1_000), end: String(seconds + 1_000), step: '1s' },
  }).toString()}`
  let answered = 0
  const drawn = fc.sample(largeNamesQuestions(START_MS), { numRuns: DRAWN, seed: 1 })
  await causeway.withstands(
    async (_, signal) => {
      let next = 0
      const askers = Array.from({ length: AT_ONCE }, async () => {
        while (!signal.aborted) {
          const { path, body } = drawn[next++ % DRAWN] ?? { path: staged }
          const url = `http://127.0.0.1:${ports.query}`
          if (next % AT_ONCE === 0) void fetch(url + staged, { signal }).catch(() => undefined)
          const asked = fetch(url + path, { signal, ...(body !== undefined && { method: 'POST', body }) })
          const text = await asked.then((response) => response.text()).catch(() => '')
          if (text !== '') answered++
          expect(text.length).toBeLessThan(LONGEST_ANSWER)
        }
      })
      await Promise.all(askers)
    },
    { what: 'large names', longestMs: FOR_MS },
  )
  expect(answered).toBeGreaterThan(0)
})
