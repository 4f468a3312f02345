import { diag } from '@opentelemetry/api'

const MOST_WARNINGS = 200
const warned = new Set<string>()

/** Tells the diagnostics of OpenTelemetry what is passed over, each thing once in a process. */
export function warnOnce(message: string): void {
  if (warned.has(message) || warned.size >= MOST_WARNINGS) return
  warned.add(message)
  diag.warn(`causeway-instrumentation: ${message}`)
}
