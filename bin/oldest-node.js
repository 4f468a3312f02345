// Plain JavaScript for any Node from 20 on.

/** What everything runs on that is not in this folder. */
export const OLDEST_NODE = 24

export const isNewEnough = Number(process.versions.node.split('.')[0]) >= OLDEST_NODE
