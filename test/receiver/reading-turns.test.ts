import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { InFlight, ReadFairness } from '../../src/receiver/in-flight.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc } from './support/start-receivers.ts'

const KIB = 1024
const MIB = KIB * KIB
const CONNECTIONS = 40
const MIB_OF_EACH = 1
const FLOODER = fileURLToPath(new URL('support/flood-connections.ts', import.meta.url))

/** Counts what is read from all connections in each turn of the event loop. */
class TurnMeter implements Disposable {
  readonly turns: number[] = []
  readonly #sockets: Socket[] = []
  readonly #open = (message: unknown): void => void this.#sockets.push((message as { socket: Socket }).socket)
  #before = 0
  #isOver = false

  constructor() {
    subscribe('net.server.socket', this.#open)
    const look = (): void => {
      const now = this.#sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)
      if (now > this.#before) this.turns.push(now - this.#before)
      this.#before = now
      if (!this.#isOver) setImmediate(look)
    }
    look()
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    unsubscribe('net.server.socket', this.#open)
  }
}

test('however many connections send at once, most turns of the event loop read little', async () => {
  const port = new RecordingPort({ kind: 'malformed', reason: 'no request' })
  await using receiver = await startGrpc(port, { inFlight: new InFlight(2_048 * MIB) })
  using meter = new TurnMeter()
  const args = [FLOODER, receiver.port, CONNECTIONS, MIB_OF_EACH].map(String)
  const flooder = spawn(process.execPath, args, { stdio: 'inherit' })
  await once(flooder, 'exit')
  expect(port.requests.map(({ request }) => request.length)).toEqual(
    Array.from({ length: CONNECTIONS }, () => MIB_OF_EACH * MIB),
  )
  const all = meter.turns.reduce((sum, bytes) => sum + bytes, 0)
  const inLongTurns = meter.turns.filter((bytes) => bytes > MIB).reduce((sum, bytes) => sum + bytes, 0)
  expect(inLongTurns).toBeLessThan(all / 2)
})

/** Connections that have always something to be read, and what was read of each in every turn. */
class Loop {
  readonly read = new Map<string, number>()
  readonly #turns = new ReadFairness(
    () => this.#nowMs,
    (work) => void this.#soon.push(work),
  )
  readonly #soon: (() => void)[] = []
  readonly #open = new Set<{ name: string; address: string }>()
  #nowMs = 0

  connect(name: string, address: string): void {
    this.#open.add({ name, address })
  }

  /** Reads a window of every connection that is not stopped; how much that was. */
  turn(): number {
    this.#nowMs += 1
    let bytes = 0
    for (const connection of [...this.#open]) {
      const { name, address } = connection
      const reading = {
        pause: () => void this.#open.delete(connection),
        resume: () => void this.#open.add(connection),
      }
      this.#turns.countRead(connection, 64 * KIB, { address, reading })
      this.read.set(name, (this.read.get(name) ?? 0) + 64 * KIB)
      bytes += 64 * KIB
    }
    for (const work of this.#soon.splice(0)) work()
    return bytes
  }
}

test('addresses are read on in turn, however many connections one of them has', () => {
  const loop = new Loop()
  for (let at = 0; at < 100; at++) loop.connect(`many ${at}`, '10.0.0.1')
  for (let at = 0; at < 20; at++) loop.turn()
  loop.connect('one', '10.0.0.2')
  loop.turn()
  loop.read.clear()
  for (let at = 0; at < 100; at++) expect(loop.turn()).toBeLessThanOrEqual(768 * KIB)
  const ofMany = [...loop.read].filter(([name]) => name !== 'one').map(([, bytes]) => bytes)
  expect(loop.read.get('one')).toBeGreaterThan(20 * Math.max(...ofMany.filter((_, at) => at > 8)))
  expect(ofMany.length).toBe(100)
})
