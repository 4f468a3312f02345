import { diag } from '@opentelemetry/api'

/** Returns the result of the work, or `otherwise` when it throws: telemetry must not fail a controller. */
export function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch (error) {
    diag.error('causeway-instrumentation went on without', error)
    return otherwise
  }
}

/** Awaits optional work; its error is only logged. */
export async function attemptLater(work: () => void | Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    diag.error('causeway-instrumentation went on without', error)
  }
}
