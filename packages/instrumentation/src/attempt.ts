import { diag } from '@opentelemetry/api'

/** What the work returns, or `otherwise` when it throws: telemetry must not fail a controller. */
export function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch (error) {
    diag.error('causeway-instrumentation went on without', error)
    return otherwise
  }
}

/** Waits for work that nothing depends on, whether it succeeds or not. */
export async function attemptLater(work: () => void | Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    diag.error('causeway-instrumentation went on without', error)
  }
}
