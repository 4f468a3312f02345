import { randomUUID } from 'node:crypto'
import { parseCpid } from '../model/cpid.ts'
import { attempt } from './attempt.ts'
import type { TraceContext } from './trace-context.ts'

/** The trace contexts that are such, with their CPIDs in canonical text; the rest counts for nothing. */
export function soundContexts(given: Iterable<TraceContext | undefined>): TraceContext[] {
  const sound: TraceContext[] = []
  for (const context of given) {
    const cpid = typeof context?.cpid === 'string' ? parseCpid(context.cpid) : undefined
    if (context !== undefined && cpid !== undefined && Array.isArray(context.ancestors)) {
      sound.push(context.cpid === cpid ? context : { cpid, ancestors: context.ancestors })
    }
  }
  return sound
}

/** Makes CPIDs as asked, and a random one wherever the outcome is no UUID. */
export function soundCpids(newCpid: () => string = randomUUID): () => string {
  if (newCpid === randomUUID) return randomUUID
  return () => attempt(() => parseCpid(newCpid()), undefined) ?? randomUUID()
}
