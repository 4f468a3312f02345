import type { TraceContext } from '../context/trace-context.ts'

/** Changes that nobody was told of yet, whichever cluster they are of. */
const unreported = new WeakMap<TraceContext, () => void>()

/** Has a change told when something comes from it. */
export function reportOnUse(context: TraceContext, tell: () => void): void {
  unreported.set(context, tell)
}

/** Something comes from this. */
export function useContext<Context extends TraceContext | undefined>(context: Context): Context {
  if (context === undefined) return context
  const tell = unreported.get(context)
  unreported.delete(context)
  tell?.()
  return context
}
