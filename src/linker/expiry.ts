import { hasMoreToFollow } from './behind/follow.ts'
import type { LinkContext } from './link-context.ts'
import { takeSteps } from './take-steps.ts'
import { settleDue } from './traces/settling.ts'

export const EXPIRY_STAGES = ['waiting', 'waitingLogs', 'settling'] as const
export type ExpiryStage = (typeof EXPIRY_STAGES)[number]

/** Looks at what of one kind has waited long enough, at most `limit`; true when more may be due. */
export function lookAtDue(ctx: LinkContext, stage: ExpiryStage, limit: number): boolean {
  const { steps } = ctx
  switch (stage) {
    case 'waiting': {
      const due = ctx.waiting.due(limit)
      for (const waiting of due) {
        steps.push({ kind: 'waited', waiting })
        takeSteps(ctx)
      }
      return due.length === limit || hasMoreToFollow(ctx)
    }
    case 'waitingLogs': {
      if (!ctx.settings.logs) return false
      const due = ctx.logs.due(limit)
      for (const row of due) steps.push({ kind: 'waited log', row })
      takeSteps(ctx)
      return due.length === limit
    }
    case 'settling':
      return settleDue(ctx, limit)
  }
}
