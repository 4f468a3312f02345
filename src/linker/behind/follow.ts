import type { LinkContext } from '../link-context.ts'
import type { Step } from '../steps.ts'

/** How many spans that waited follow at once, in one call of the linker. */
const MOST_AT_ONCE = 1_000

/** Something that waits goes after what it waited for: at once, or where that sets off much in one of the next turns. */
export function follow(ctx: LinkContext, arrival: number, step: Step): void {
  if (ctx.followed++ < MOST_AT_ONCE) ctx.steps.push(step)
  else ctx.waiting.wake(arrival)
}

/** Whether something was left to the next turns. */
export function hasMoreToFollow({ followed }: LinkContext): boolean {
  return followed > MOST_AT_ONCE
}
