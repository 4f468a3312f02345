/**
 * Whether the mergelogs of a row of `cpids` and its ancestors arrived. One that was pruned and is seen again is nothing to wait for,
 * so that the graph holds it explained; its own mergelog is gone all the same.
 */
export const EXPLAINED = 'cpids.explained AND cpids.has_mergelog AND cpids.unexplained_sources = 0'
