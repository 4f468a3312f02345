/** The instrumentation scope of this library's telemetry. */
export const SCOPE = 'causeway-instrumentation'
