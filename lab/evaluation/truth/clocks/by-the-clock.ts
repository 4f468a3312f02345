import type { KubeApi } from '../../../harness/kubernetes/kube-api.ts'

/** A User-Agent that says of a request that a clock made it, and nothing that somebody changed. */
export const BY_THE_CLOCK = '(by the clock)'

/** The same API for what a program does because time went by. Inference reads of a User-Agent only the name before the slash. */
export const byTheClock = (api: KubeApi, program: string): KubeApi =>
  api.with({ 'user-agent': `${program}/v0.0.0 ${BY_THE_CLOCK}` })

/** Calls one after the other; one that fails is forgotten. */
export function each(everyMs: number, deed: (tick: number) => Promise<void>): void {
  let tick = 0
  let last: Promise<void> = Promise.resolve()
  setInterval(() => {
    last = last.then(() => deed(tick++)).catch(() => undefined)
  }, everyMs)
}
