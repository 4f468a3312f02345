import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import type { CausewaySettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { askOver } from './asking.ts'

const MB = 1_000_000
const STORED_BYTES = 80 * MB
const CONNECTIONS = 60
const FOR_MS = 8_000
/** Together with what `AttackedCauseway` allows beyond it, some 250 MiB more than a Causeway with such rows has at rest. */
const LIMIT_MIB = 500
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
  `/jaeger/api/traces/${cpid(1).replaceAll('-', '')}`,
  `/jaeger/api/v3/traces/${cpid(1).replaceAll('-', '')}`,
  `/tempo/api/traces/${cpid(1).replaceAll('-', '')}`,
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
  const { settings } = causeway
  await store(settings.ports.grpc, attack.rowBytes)
  await sent(settings)
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

async function store(port: number, rowBytes: number): Promise<void> {
  using sender = new GrpcSender(port)
  await sender.export('logs', mergelogsRequest('kubectl', [{ new: cpid(1) }]))
  const attributes = { note: 'x'.repeat(rowBytes) }
  for (let row = 1; row * rowBytes <= STORED_BYTES; row++)
    await sender.export('traces', spansRequest('large', [{ trace: 1, id: row, cpid: cpid(1), attributes }]))
}

/** Resolves when the trace can be asked for as it was sent. */
async function sent({ ports }: CausewaySettings): Promise<void> {
  while ((await askOver(ports.query, PATHS[3] ?? '')) !== 200) await pause(SLOW_MS)
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
