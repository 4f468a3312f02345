/** Asks for what is wrong with the pages of a database; the one row `ok` where nothing is. */
export const QUICK_CHECK = 'SELECT * FROM pragma_quick_check'
