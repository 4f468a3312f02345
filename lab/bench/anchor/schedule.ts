import type { AnchorOrder } from './messages.ts'
import { scrambled } from '../load/span-template.ts'
import { REQUESTS, type RequestShape } from './requests.ts'

/** One request that is to be sent. */
export interface Sending {
  shape: RequestShape
  /** Simulated seconds after the beginning. */
  atSecond: number
  /** The second in which its changes began. */
  second: number
  firstChange: number
  changes: number
  /** Of its first change among those of its second. */
  place: number
}

/** Seconds after a change in which the last of it is sent. */
export const LATEST = Math.max(...REQUESTS.map(({ sentAfter }) => sentAfter))

/**
 * All requests, in order of time. Within a second the kubelets' requests are spread evenly and those of the controllers
 * come anywhere, differently every second: batching senders send in no order.
 */
export function* scheduleOf({
  changesPerSecond,
  firstChange,
  seconds,
}: Pick<AnchorOrder, 'changesPerSecond' | 'firstChange' | 'seconds'>): Generator<Sending> {
  for (let now = 0; now < seconds + LATEST; now++) {
    const sendings: Sending[] = []
    REQUESTS.forEach((shape, number) => {
      const second = now - shape.sentAfter
      if (second < 0 || second >= seconds) return
      const first = firstChange + second * changesPerSecond
      if (!shape.isPerChange) {
        const part = scrambled(now * REQUESTS.length + number) / 2 ** 32
        sendings.push({
          shape,
          atSecond: now + part,
          second,
          firstChange: first,
          changes: changesPerSecond,
          place: 0,
        })
        return
      }
      for (let place = 0; place < changesPerSecond; place++) {
        const atSecond = now + place / changesPerSecond
        sendings.push({ shape, atSecond, second, firstChange: first + place, changes: 1, place })
      }
    })
    yield* sendings.sort((one, other) => one.atSecond - other.atSecond)
  }
}
