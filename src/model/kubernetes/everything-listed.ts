/** What is logged once all that is to be watched of a cluster was listed: no change from then on is missed. */
export const EVERYTHING_LISTED = 'Everything is listed'
