/** Attribute names that Causeway reads; they never change. */
export const CPID_ID = 'cpid.id'
export const CPID_ANCESTORS = 'cpid.ancestors'
export const CPID_OBSERVED = 'cpid.observed'
export const CPID_WROTE = 'cpid.wrote'

/** The event name of a mergelog. */
export const MERGELOG_EVENT = 'cpid.mergelog'
export const CPID_NEW = 'cpid.new'
export const CPID_SOURCES = 'cpid.sources'
export const CPID_OBJECT = 'cpid.object'
export const CPID_REASON = 'cpid.reason'
export const CPID_WRITER = 'cpid.writer'
