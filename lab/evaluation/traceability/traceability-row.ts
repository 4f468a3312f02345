/** A kind of change propagation, and whether it can be traced. */
export interface TraceabilityRow {
  /** What happens. */
  change: string
  /** `partly`: some of what follows is found from the change asked about, and some is not. */
  traced: 'yes' | 'partly' | 'no'
  /** Why, and what a controller author can do about it. */
  how: string
  /** The section of the paper that speaks of it, and what it says. */
  paper: string
  /** Plays the change on the control plane and says what was found. */
  find: () => Promise<Finding>
}

/** Writes, as `scheduler updated v1/pods`, sorted. The same may be found once and missed another time. */
export interface Finding {
  /** Those that truly follow from the change asked about and are found from its CPID. */
  reached: readonly string[]
  /** Those that truly follow from it and are not found. */
  missed: readonly string[]
  /** Those that are found from it and truly follow from other changes alone. */
  wronglyTied: readonly string[]
  /** How many mergelogs and spans Causeway refused, where a real one was asked. */
  refused?: Readonly<Record<string, number>>
}
