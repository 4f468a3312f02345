/** What is logged where an operator should see to something while everything goes on; `reason` beside it says to what. */
export const NOTICE = 'Something needs to be looked at.'
