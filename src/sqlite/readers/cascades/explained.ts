/**
 * Whether the mergelogs of a CPID `c` and its ancestors arrived. One that was pruned and is seen again is nothing to wait for,
 * so that the graph holds it explained; its own mergelog is gone all the same.
 */
export const EXPLAINED = 'c.explained AND c.has_mergelog AND c.unexplained_sources = 0'
