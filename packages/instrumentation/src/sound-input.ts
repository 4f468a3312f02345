import { randomUUID } from 'node:crypto'
import { attempt } from './attempt.ts'
import { readCpid } from './context/read-cpid.ts'
import type { TraceContext } from './context/trace-context.ts'

/**
 * Validates a trace context from a caller: CPIDs in canonical text, invalid ancestors removed; undefined without a valid CPID.
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

/** The valid ancestors; the same list if all are. */
function soundAncestors(given: readonly unknown[]): readonly string[] {
  if (given.findIndex((one) => typeof one !== 'string' || readCpid(one) !== one) === -1)
    return given as string[]
  return Array.from(given, (one) => (typeof one === 'string' ? readCpid(one) : undefined)).filter(
    (one) => one !== undefined,
  )
}

/** Wraps a CPID generator: returns a random UUID when it throws or its result is not a UUID. */
export function soundCpids(newCpid: () => string = randomUUID): () => string {
  if (newCpid === randomUUID) return randomUUID
  return () => attempt(() => readCpid(newCpid()), undefined) ?? randomUUID()
}
