/** The instrumentation scope of what is sent from here. */
export const SCOPE = 'causeway-instrumentation'
