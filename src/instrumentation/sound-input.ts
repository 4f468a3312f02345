import { randomUUID } from 'node:crypto'
import { attempt } from './attempt.ts'
import { readCpid } from './read-cpid.ts'
import type { TraceContext } from './trace-context.ts'

/** A trace context with its CPID in canonical text; undefined when what is given, by whatever caller, is none. */
export function soundContext(given: TraceContext | null | undefined): TraceContext | undefined {
  return attempt(() => {
    if (typeof given?.cpid !== 'string' || !Array.isArray(given.ancestors)) return undefined
    const cpid = readCpid(given.cpid)
    if (cpid === undefined) return undefined
    return cpid === given.cpid ? given : { ...given, cpid }
  }, undefined)
}

/** Makes CPIDs as asked, and a random one wherever the outcome is no UUID. */
export function soundCpids(newCpid: () => string = randomUUID): () => string {
  if (newCpid === randomUUID) return randomUUID
  return () => attempt(() => readCpid(newCpid()), undefined) ?? randomUUID()
}
