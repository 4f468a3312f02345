import type { Link } from '@opentelemetry/api'

/**
 * What an object carries about the changes its state came from (section 4.2 of the CPID paper). CPIDs are in canonical
 * text: lower case, dashed.
 */
export interface TraceContext {
  /** The change the state came from. */
  readonly cpid: string
  /** Some of the CPIDs it descends from, nearest first; those left out are merely not known here (section 3.5). */
  readonly ancestors: readonly string[]
  /** The span that wrote the object, where the object says so and whoever read it asked to keep that. */
  readonly link?: Link
}
