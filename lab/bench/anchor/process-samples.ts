import { statSync } from 'node:fs'
import { usageOf } from '../measure/process-usage.ts'

const EVERY_MS = 500

export interface Sample {
  atMs: number
  rssMib: number
  databaseMib: number
}

/** Looks at a process and its database twice a second until disposed of. */
export class ProcessSamples implements Disposable {
  readonly samples: Sample[] = []
  readonly #timer: NodeJS.Timeout

  constructor(pid: number, path: string) {
    const look = (): void => {
      const rssMib = usageOf(pid)?.rssMib ?? Number.NaN
      const databaseMib = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20
      this.samples.push({ atMs: performance.timeOrigin + performance.now(), rssMib, databaseMib })
    }
    look()
    this.#timer = setInterval(look, EVERY_MS)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}

/** The samples by the simulated second in which they were taken; `secondsEndedMs` says when each had been sent. */
export function bySimulatedSecond(
  samples: readonly Sample[],
  secondsEndedMs: readonly number[],
): { second: number; sample: Sample }[] {
  let second = 0
  return samples.map((sample) => {
    while (second < secondsEndedMs.length && (secondsEndedMs[second] ?? 0) <= sample.atMs) second++
    return { second, sample }
  })
}
