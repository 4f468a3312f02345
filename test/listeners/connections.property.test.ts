import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { heldServer, soon, type Caller } from './support/held-server.ts'

/** Only Linux has all of 127.0.0.0/8 without being told to. */
const onLinux = process.platform === 'linux' ? test : test.skip
const RUNS = process.env['CAUSEWAY_ATTACK'] === undefined ? 25 : 300
const LONGEST_MS = 300_000
const SILENT_MS = 1_000

/** What is known of an open connection, in the order in which they came. */
interface Known {
  readonly caller: Caller
  readonly address: string
  sinceMs: number
  hasAsked: boolean
  isAsking: boolean
  /** What was announced when its request began. */
  isLast: boolean
  /** The rest of the request that was begun. */
  rest: string | undefined
}

type Step =
  | { kind: 'connect'; address: number }
  | { kind: 'begin' | 'ask' | 'answer' | 'leave'; at: number }
  | { kind: 'wait'; ms: number }

const at = fc.nat(100)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ kind: fc.constant('connect' as const), address: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('begin' as const), at }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('ask' as const), at }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('answer' as const), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), at }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, SILENT_MS) }),
  },
)
const limits = fc
  .record({
    max: fc.integer({ min: 1, max: 3 }),
    maxPerAddress: fc.integer({ min: 1, max: 3 }),
    makesRoom: fc.boolean(),
  })
  .filter(({ max, maxPerAddress }) => maxPerAddress <= max)

/** Who is connected, by the rules as docs/operations.md has them. */
class Model {
  open: Known[] = []
  readonly #max: number
  readonly #maxPerAddress: number
  readonly #makesRoom: boolean

  constructor({ max, maxPerAddress, makesRoom }: { max: number; maxPerAddress: number; makesRoom: boolean }) {
    this.#max = max
    this.#maxPerAddress = maxPerAddress
    this.#makesRoom = makesRoom
  }

  get isFull(): boolean {
    return this.open.length >= 2 * this.#max
  }

  /** Who goes for a newcomer where it is full; undefined when the newcomer does. */
  whoGoes(address: string, nowMs: number): Known | undefined {
    const own = this.#count(address) + 1
    const withNewcomer = (one: Known): number => (one.address === address ? own : this.#count(one.address))
    const rank = ({ hasAsked, sinceMs }: Known): number =>
      hasAsked ? 1 : sinceMs <= nowMs - SILENT_MS ? 0 : 2
    const [first] = this.open
      .filter((one) => !one.isAsking && withNewcomer(one) >= own)
      .toSorted((a, b) => withNewcomer(b) - withNewcomer(a) || rank(a) - rank(b) || a.sinceMs - b.sinceMs)
    if (first !== undefined || !this.#makesRoom) return first
    return this.open
      .filter((one) => this.#count(one.address) > own)
      .toSorted((a, b) => this.#count(b.address) - this.#count(a.address))[0]
  }

  mayAsk({ address }: Known): boolean {
    const asking = this.open.filter(({ isAsking }) => isAsking)
    return (
      asking.length < this.#max &&
      asking.filter((one) => one.address === address).length < this.#maxPerAddress
    )
  }

  isCrowded({ address }: Known): boolean {
    return this.open.length > this.#max || this.#count(address) > this.#maxPerAddress
  }

  #count(address: string): number {
    return this.open.filter((one) => one.address === address).length
  }
}

onLinux(
  'whoever asks is served within the limits, however many are silent, idle or slow; and the right one goes for a newcomer',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        limits,
        fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
        async (drawn, steps) => {
          await using server = await heldServer(drawn)
          const model = new Model(drawn)
          const picked = (at: number, fits: (one: Known) => boolean): Known | undefined => {
            const some = model.open.filter(fits)
            return some[at % Math.max(1, some.length)]
          }
          const gone = async (one: Known): Promise<void> => {
            model.open = model.open.filter((other) => other !== one)
            await one.caller.closed()
            await soon('the server knows', () => server.connections.size <= model.open.length)
          }
          for (const one of steps) {
            const nowMs = ++server.clock.nowMs
            if (one.kind === 'wait') server.clock.nowMs += one.ms
            else if (one.kind === 'connect') {
              const address = `127.0.0.${one.address + 1}`
              const goes = model.isFull ? model.whoGoes(address, nowMs) : undefined
              const isTurnedAway = model.isFull && goes === undefined
              const caller = await server.connect(address)
              if (goes !== undefined) await goes.caller.closed()
              if (isTurnedAway) {
                await caller.closed()
                continue
              }
              model.open = model.open.filter((other) => other !== goes)
              const known = { hasAsked: false, isAsking: false, isLast: false, rest: undefined }
              model.open.push({ caller, address, sinceMs: nowMs, ...known })
            } else if (one.kind === 'begin') {
              const beginner = picked(one.at, ({ isAsking, rest }) => !isAsking && rest === undefined)
              if (beginner === undefined) continue
              beginner.caller.socket.write('GET / HTTP/1.1\r\nHo')
              beginner.rest = 'st: x\r\n\r\n'
            } else if (one.kind === 'ask') {
              const asker = picked(one.at, ({ isAsking }) => !isAsking)
              if (asker === undefined) continue
              const mayAsk = model.mayAsk(asker)
              expect(await server.ask(asker.caller, asker.rest)).toBe(mayAsk ? undefined : 503)
              Object.assign(asker, { hasAsked: true, isAsking: mayAsk, rest: undefined })
              if (mayAsk) asker.isLast = model.isCrowded(asker)
              else asker.sinceMs = nowMs
            } else if (one.kind === 'answer') {
              const asker = picked(one.at, ({ isAsking }) => isAsking)
              if (asker === undefined) continue
              expect(await server.answer(asker.caller)).toEqual({ status: 200, isLast: asker.isLast })
              Object.assign(asker, { isAsking: false, sinceMs: nowMs })
              if (asker.isLast) await gone(asker)
            } else {
              const leaver = picked(one.at, () => true)
              if (leaver === undefined) continue
              leaver.caller.socket.destroy()
              await gone(leaver)
            }
            expect(server.connections.size).toBe(model.open.length)
            expect(model.open.filter(({ caller }) => caller.socket.closed)).toEqual([])
          }
        },
      ),
      { numRuns: RUNS },
    )
  },
  LONGEST_MS,
)
