import { logs } from '@opentelemetry/api'
import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
  type TraceContext,
} from 'causeway-instrumentation'

/** The event that a replacement log has: `cpid.old` was replaced by `cpid.new`. */
export const REPLACEMENT_EVENT = 'cpid.replacement'

/** Which of the CPIDs that meet stays: that of what a controller read first, or of what it read last. */
type Keeps = 'first' | 'last'

/**
 * The method that the paper's section 6.2 turns down: where changes meet, one of their CPIDs stays and replaces the
 * others. There is no list of ancestors; roots are begun and told as ever.
 */
export function replacing(keeps: Keeps): (settings: InstrumentationSettings) => Instrumentation {
  return (settings) => {
    const nowMs = settings.nowMs ?? Date.now
    const inner = createInstrumentation({ ...settings, maxAncestors: 0 })
    return {
      ...inner,
      merge(contexts, detail) {
        const cpids = [
          ...new Set([...contexts].flatMap((context) => (context === undefined ? [] : [context.cpid]))),
        ]
        const kept = keeps === 'first' ? cpids[0] : cpids.at(-1)
        if (kept === undefined) return inner.newRoot(detail)
        for (const old of cpids) if (old !== kept) emit(old, kept, nowMs())
        return contextOf(kept)
      },
    }
  }
}

function emit(old: string, kept: string, atMs: number): void {
  const timestamp = new Date(atMs)
  logs
    .getLogger('evaluation')
    .emit({ eventName: REPLACEMENT_EVENT, timestamp, attributes: { 'cpid.old': old, 'cpid.new': kept } })
}

function contextOf(cpid: string): TraceContext {
  return { cpid, ancestors: [] }
}
