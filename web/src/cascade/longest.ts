import type { Cascade } from '../api/answers.ts'

export interface Longest {
  name: string
  service: string
  ms: number
}

/** The step of the critical path that itself took longest; without a path, the span that did. */
export function longestStep({ criticalPath, traces }: Cascade): Longest | undefined {
  let longest: Longest | undefined
  const consider = (name: string, service: string, ms: number) => {
    if (ms > (longest?.ms ?? 0)) longest = { name, service, ms }
  }
  if (criticalPath !== undefined) {
    for (const { name, service, selfMs } of criticalPath.steps) consider(name, service, selfMs)
    return longest
  }
  for (const { spans } of traces) {
    for (const { name, service, durationMs, selfMs = durationMs, synthetic } of spans) {
      if (!synthetic) consider(name, service, selfMs)
    }
  }
  return longest
}

/** The longest wait on the critical path. */
export function longestWait({ criticalPath }: Cascade): Longest | undefined {
  const steps = criticalPath?.steps ?? []
  const most = steps.reduce((best, step) => (step.waitMs > (best?.waitMs ?? 0) ? step : best), steps[0])
  if (most === undefined || most.waitMs <= 0) return undefined
  return { name: most.name, service: most.service, ms: most.waitMs }
}
