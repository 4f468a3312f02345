import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { cpid } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { askOver } from './asking.ts'
import { LARGE_TRACE, LARGE_TRACE_ID, LIMIT_MIB, storeLargeRows } from './large-rows.ts'

const MB = 1_000_000
const CONNECTIONS = 60
const FOR_MS = 8_000
const SLOW_BYTES = 8_192
const SLOW_MS = 200
/** A client that goes away and comes again asks anew so often. */
const LEAVES_AFTER_MS = 1_500
const PIPELINED = 16

/** What a client does that has asked. */
type Reader = 'never reads' | 'reads slowly' | 'asks much at once' | 'comes again'

interface Attack {
  rowBytes: number
  path: string
  reader: Reader
  addresses: number
}

const PATHS = [
  '/api/v1/spans',
  `/api/v1/cpids/${cpid(1)}/spans`,
  `/api/v1/cascades/${cpid(1)}`,
  LARGE_TRACE,
  `/jaeger/api/v3/traces/${LARGE_TRACE_ID}`,
  `/tempo/api/traces/${LARGE_TRACE_ID}`,
]

const attacks = fc.record<Attack>({
  rowBytes: fc.constantFrom(MB, 4 * MB, 10 * MB),
  path: fc.constantFrom(...PATHS),
  reader: fc.constantFrom('never reads', 'reads slowly', 'asks much at once', 'comes again'),
  addresses: fc.constantFrom(1, 8),
})

leaveNothingBehind()

test('sixty clients that do not read answers of large rows', async () => {
  await fc.assert(fc.asyncProperty(attacks, withstood), {
    numRuns: 4,
    endOnFailure: true,
    examples: [
      [{ rowBytes: 10 * MB, path: PATHS[1] ?? '', reader: 'never reads', addresses: 1 }],
      [{ rowBytes: MB, path: PATHS[3] ?? '', reader: 'never reads', addresses: 8 }],
    ],
  })
})

async function withstood(attack: Attack): Promise<void> {
  await using causeway = await AttackedCauseway.start({
    limitMib: LIMIT_MIB,
    linking: { wait: '1s', settle_after: '2s' },
  })
  await storeLargeRows(causeway.settings.ports, attack.rowBytes)
  const replies: (number | undefined)[] = []
  await causeway.withstands(
    async ({ ports }, signal) => {
      const asking = askUnread(ports.query, attack, signal)
      // Whoever asks for the same from elsewhere, and reads it.
      while (!signal.aborted) {
        const status = await askOver(ports.query, attack.path, { localAddress: '127.0.0.3' })
        replies.push(status)
        if (status !== 200) await pause(SLOW_MS)
      }
      await asking
    },
    { what: `large rows, ${JSON.stringify(attack)}`, longestMs: FOR_MS },
  )
  process.stderr.write(`whoever reads was answered ${replies.join(', ')}\n`)
  expect(replies).toContain(200)
}

async function askUnread(
  port: number,
  { path, reader, addresses }: Attack,
  signal: AbortSignal,
): Promise<void> {
  const question = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const held = new Set<Socket>()
  const timers = new Map<Socket, NodeJS.Timeout>()
  let asked = 0
  while (!signal.aborted) {
    while (held.size < CONNECTIONS) {
      const localAddress = `127.0.1.${(asked++ % addresses) + 1}`
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      held.add(socket)
      socket
        .on('error', () => undefined)
        .once('close', () => {
          clearInterval(timers.get(socket))
          timers.delete(socket)
          held.delete(socket)
        })
      socket.pause().write(reader === 'asks much at once' ? question.repeat(PIPELINED) : question)
      if (reader === 'reads slowly')
        timers.set(
          socket,
          setInterval(() => void socket.read(SLOW_BYTES), SLOW_MS),
        )
      if (reader === 'comes again')
        timers.set(
          socket,
          setInterval(() => socket.destroy(), LEAVES_AFTER_MS),
        )
    }
    await pause(20)
  }
  for (const socket of held) socket.destroy()
}
