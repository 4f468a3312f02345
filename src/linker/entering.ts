import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { waitsUntil } from './causes/waits.ts'
import { enterChange } from './changes/enter-change.ts'
import type { LinkContext } from './link-context.ts'
import { enterOwnTrace } from './traces/enter-own-trace.ts'

/** The change of a CPID takes its place in the traces. */
export function enter(ctx: LinkContext, cpid: number): void {
  if (ctx.settings.mode === 'cascade') enterChange(ctx, cpid)
  else enterOwnTrace(ctx, cpid)
}

export function waitToEnter(
  { waiting }: LinkContext,
  arrival: number,
  cpid: number,
  until: number,
  toldBy?: bigint,
): void {
  if (waiting.forCpid(cpid).some(({ kind }) => kind === 'change')) return
  waiting.add(
    { arrival, kind: 'change', cpid, origin: undefined, parentId: toldBy, behindUntilMs: undefined },
    until,
  )
}

/** In links mode a CPID seen first on a span has its change span sent after the wait, mergelog or not. */
export function awaitChange(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  if (ctx.settings.mode !== 'links' || !needsChangeSpan(ctx, cpid)) return
  const until = waitsUntil(ctx, cpid)
  if (until === undefined) enter(ctx, cpid)
  else waitToEnter(ctx, span.row, cpid, until)
}

export function needsChangeSpan({ graph, changes }: LinkContext, cpid: number): boolean {
  return !graph.node(cpid).hasMergelog && changes.newest(cpid, 1).length === 0
}
