import { randomUUID } from 'node:crypto'
import { attempt } from './attempt.ts'
import { readCpid } from './context/read-cpid.ts'
import type { TraceContext } from './context/trace-context.ts'

/**
 * A trace context with its CPIDs in canonical text, without ancestors that are none; undefined when what is given, by whatever
 * caller, has no CPID.
 */
export function soundContext(given: TraceContext | null | undefined): TraceContext | undefined {
  return attempt(() => {
    if (typeof given?.cpid !== 'string' || !Array.isArray(given.ancestors)) return undefined
    const cpid = readCpid(given.cpid)
    if (cpid === undefined) return undefined
    const ancestors = soundAncestors(given.ancestors)
    return cpid === given.cpid && ancestors === given.ancestors ? given : { ...given, cpid, ancestors }
  }, undefined)
}

/** The same list where nothing is wrong with it. */
function soundAncestors(given: readonly unknown[]): readonly string[] {
  if (given.findIndex((one) => typeof one !== 'string' || readCpid(one) !== one) === -1)
    return given as string[]
  return Array.from(given, (one) => (typeof one === 'string' ? readCpid(one) : undefined)).filter(
    (one) => one !== undefined,
  )
}

/** Makes CPIDs as asked, and a random one wherever the outcome is no UUID. */
export function soundCpids(newCpid: () => string = randomUUID): () => string {
  if (newCpid === randomUUID) return randomUUID
  return () => attempt(() => readCpid(newCpid()), undefined) ?? randomUUID()
}
