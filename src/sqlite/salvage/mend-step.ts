import type { Sqlite } from '../open-database.ts'

/**
 * A statement that mends a salvaged database, or what does so and returns how many rows it changed; `what` is how an operator
 * hears of its rows, empty where there is nothing to hear.
 */
export type MendStep = readonly [what: string, step: string | ((db: Sqlite) => number)]

export const CPIDS_LEFT = 'SELECT id FROM cpids'
export const TRACES_LEFT = 'SELECT id FROM traces'
