import type { CriticalStep } from '../api/answers.ts'
import type { SpanRows } from './span-rows.ts'

/** A step of the critical path and the time that it, with what runs inside it, held up the cascade. */
export interface HeldStep extends CriticalStep {
  /** From its start to what the next step waited for; waits and these together are the whole path. */
  heldMs: number
  /** The span inside it that took most of that, when it is not the step itself. */
  mostly: { name: string; ms: number } | undefined
}

export function heldSteps(steps: readonly CriticalStep[], rows: SpanRows): HeldStep[] {
  return steps.map((step, index) => {
    const next = steps[index + 1]
    const untilMs = next === undefined ? step.offsetMs + step.durationMs : next.offsetMs - next.waitMs
    const heldMs = Math.max(0, untilMs - step.offsetMs)
    return { ...step, heldMs, mostly: mostlyIn(step, untilMs, rows) }
  })
}

/** The step that held up the cascade longest. */
export function longestHeld(steps: readonly HeldStep[]): HeldStep | undefined {
  return longest(steps, ({ heldMs }) => heldMs)
}

/** The step before which the wait was longest. */
export function longestWait(steps: readonly HeldStep[]): HeldStep | undefined {
  return longest(steps, ({ waitMs }) => waitMs)
}

function longest(steps: readonly HeldStep[], msOf: (step: HeldStep) => number): HeldStep | undefined {
  let found: HeldStep | undefined
  for (const step of steps) if (msOf(step) > (found === undefined ? 0 : msOf(found))) found = step
  return found
}

function mostlyIn(step: CriticalStep, untilMs: number, rows: SpanRows): HeldStep['mostly'] {
  const top = rows.byId.get(step.spanId)
  if (top === undefined) return undefined
  let found: HeldStep['mostly']
  const behind = top + (rows.sizes[top] ?? 1)
  for (let at = top + 1; at < behind; at++) {
    const span = rows.spans[at]
    if (span === undefined || span.service !== step.service || span.synthetic) continue
    if (span.offsetMs < step.offsetMs || span.offsetMs >= untilMs || span.critical === true) continue
    const ms = Math.min(span.selfMs ?? span.durationMs, untilMs - span.offsetMs)
    if (ms > (found?.ms ?? step.selfMs)) found = { name: span.name, ms }
  }
  return found
}
