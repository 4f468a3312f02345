/** A statement that mends a salvaged database; `what` is how an operator hears of its rows, empty where there is nothing to hear. */
export type MendStep = readonly [what: string, sql: string]

export const CPIDS_LEFT = 'SELECT id FROM cpids'
export const TRACES_LEFT = 'SELECT id FROM traces'
