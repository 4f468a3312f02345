import { attribute, giveUp } from './attribute.ts'
import { handleExplained, handleMergelog, handleSpan } from './hearing.ts'
import type { LinkContext } from './link-context.ts'
import { handleLog, lookAtLogAgain } from './logs/link-log.ts'
import { lookAgain } from './release.ts'
import { sendChild, sendObserver } from './send-span.ts'
import type { Step } from './steps.ts'

/** Takes the steps that are in the queue, and those that they lead to. */
export function takeSteps(ctx: LinkContext): void {
  const { steps } = ctx
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at]
    if (step !== undefined) take(ctx, step)
  }
  steps.length = 0
}

function take(ctx: LinkContext, step: Step): void {
  switch (step.kind) {
    case 'span':
      handleSpan(ctx, step.span)
      return
    case 'mergelog':
      handleMergelog(ctx, step.arrival, step.cpid)
      return
    case 'explained':
      handleExplained(ctx, step.cpid)
      return
    case 'log':
      handleLog(ctx, step.log)
      return
    case 'waited':
      lookAgain(ctx, step.waiting)
      return
    case 'observer':
      sendObserver(ctx, step.row)
      return
    case 'child':
      letChildGo(ctx, step.row, step.cpid, step.joined)
      return
    case 'given up':
      giveUp(ctx, step.row)
      return
    case 'waited log':
      lookAtLogAgain(ctx, step.row)
      return
  }
}

function letChildGo(ctx: LinkContext, row: number, cpid: number | undefined, joined: boolean): void {
  const child = ctx.waiting.remove(row) ? ctx.spans.span(row) : undefined
  if (child === undefined) return
  if (child.names === 0) sendChild(ctx, child, cpid, joined)
  else attribute(ctx, child)
}
