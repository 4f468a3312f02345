import type { Clock, Timers } from '../model/time-and-size.ts'

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

export const systemTimers: Timers = {
  soon: (work) => {
    const immediate = setImmediate(work)
    return () => clearImmediate(immediate)
  },
  after: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
  every: (ms, work) => {
    const timer = setInterval(work, ms)
    return () => clearInterval(timer)
  },
}
