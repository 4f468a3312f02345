import type { TraceContext } from '../context/trace-context.ts'

/** Changes that are not reported yet, of all clusters. */
const unreported = new WeakMap<TraceContext, () => void>()

/** Registers a change to be reported at its first use as a cause. */
export function reportOnUse(context: TraceContext, report: () => void): void {
  unreported.set(context, report)
}

/** Reports a change, if it is registered, because it is used as a cause. */
export function useContext<Context extends TraceContext | undefined>(context: Context): Context {
  if (context === undefined) return context
  const report = unreported.get(context)
  unreported.delete(context)
  report?.()
  return context
}
