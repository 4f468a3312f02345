import type { CascadeFacts } from '../../model/ports/query-port.ts'
import type { PathStep } from '../../query/cascade/cascade-analysis.ts'
import { positionOfMost } from '../../query/cascade/step-times.ts'
import { count, duration, plain } from './show.ts'
import { textTable } from './text-table.ts'

const SHOWN_STEPS = 40

/**
 * The critical path for people: the longest step and the longest wait in words, and every step with what it waited and
 * held up. Without `all`, the last steps are shown and those before are counted.
 */
export function criticalPathText(
  path: readonly PathStep[],
  { startNs }: CascadeFacts,
  all: boolean,
): string[] {
  const whole = path.reduce((sum, { waitNs, heldNs }) => sum + waitNs + heldNs, 0n)
  const longest = path[positionOfMost(path, ({ heldNs }) => heldNs) ?? -1]
  const waited = path[positionOfMost(path, ({ waitNs }) => waitNs) ?? -1]
  const shown = all ? path : path.slice(-SHOWN_STEPS)
  const hidden = path.length - shown.length
  const rows = shown.map((step) => [
    plain(step.span.name),
    plain(step.span.service),
    duration(step.span.startNs - startNs),
    step.waitNs === 0n ? '' : duration(step.waitNs),
    `${step === longest ? 'longest ' : ''}${duration(step.heldNs)}`,
  ])
  return [
    `critical path, ${duration(whole)}`,
    ...(longest === undefined ? [] : [`  longest step  ${stepText(longest)}, ${heldText(longest)}`]),
    ...(waited === undefined
      ? []
      : [`  longest wait  ${duration(waited.waitNs)} before ${stepText(waited)}`]),
    ...(hidden > 0 ? [`  … ${count(hidden, 'step')} before these; --all shows them`] : []),
    ...textTable(['step', 'service', ' start', ' waited', ' held up'], rows),
  ]
}

function stepText({ span }: Pick<PathStep, 'span'>): string {
  return `${plain(span.name)} of ${plain(span.service)}`
}

function heldText({ heldNs, mostly }: PathStep): string {
  return `${duration(heldNs)}${mostly === undefined ? '' : `, mostly ${stepText(mostly)}, ${duration(mostly.heldNs)}`}`
}
