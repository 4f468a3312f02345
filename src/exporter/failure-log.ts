/** What Collector users search their logs for when a backend is down. */
export const WILL_RETRY = 'Exporting failed. Will retry the request after interval.'

/** What Collector users search their logs for when data was given up. */
export const DROPPING = 'Exporting failed. Dropping data.'
