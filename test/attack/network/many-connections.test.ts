import { expect, test } from '@jest/globals'
import { connect, type Socket } from 'node:net'
import type { CausewayPorts } from '../../../lab/harness/causeway/causeway-settings.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

/** Far more than the process may have open. */
const HELD = 1_000
const FOR_MS = 3_000
const LISTENERS: readonly (keyof CausewayPorts)[] = ['grpc', 'http', 'query', 'metrics', 'health']

leaveNothingBehind()

/** Holds as many connections as it can get, and takes each that is closed again. */
async function holdAll(port: number, signal: AbortSignal, localAddress: string): Promise<void> {
  const held = new Set<Socket>()
  while (!signal.aborted) {
    while (held.size < HELD) {
      const socket = connect({ port, host: '127.0.0.1', localAddress }).resume()
      held.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => held.delete(socket))
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (const socket of held) socket.destroy()
}

test.each(LISTENERS)(
  'connections to the %s port without an end, with 160 files that may be open',
  async (listener) => {
    await using causeway = await AttackedCauseway.start({ openFiles: 160, mostDescriptors: 160 })
    expect(causeway.errors).toContain('Too few files may be open')
    await causeway.withstands(({ ports }, signal) => holdAll(ports[listener], signal, '127.0.0.1'), {
      what: `connections to ${listener}`,
      longestMs: FOR_MS,
    })
  },
)

test('connections to every port at once', async () => {
  await using causeway = await AttackedCauseway.start({ openFiles: 160, mostDescriptors: 160 })
  await causeway.withstands(
    async ({ ports }, signal) => {
      await Promise.all(LISTENERS.map((listener) => holdAll(ports[listener], signal, '127.0.0.1')))
    },
    { what: 'connections to every port', longestMs: FOR_MS },
  )
})
