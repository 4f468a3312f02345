import { diag } from '@opentelemetry/api'

const MOST_WARNINGS = 200
const warned = new Set<string>()

/** Logs a warning to OpenTelemetry's `diag`, each message once per process. */
export function warnOnce(message: string): void {
  if (warned.has(message) || warned.size >= MOST_WARNINGS) return
  warned.add(message)
  diag.warn(`causeway-instrumentation: ${message}`)
}
