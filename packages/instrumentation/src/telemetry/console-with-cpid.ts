import { CPID_ID } from '../attributes.ts'
import { activeTraceContext } from '../context/active-trace-context.ts'

/** A logger that takes any number of values, like `console`. */
export interface LineLogger {
  debug(...values: unknown[]): void
  error(...values: unknown[]): void
  info(...values: unknown[]): void
  log(...values: unknown[]): void
  warn(...values: unknown[]): void
}

const METHODS = ['debug', 'error', 'info', 'log', 'warn'] as const

/**
 * A console that prefixes lines logged in a trace context with `cpid.id="…"`; otherwise it behaves like the given one. For JSON lines
 * use `cpidLogFields()` instead.
 */
export function consoleWithCpid<T extends LineLogger>(target: T): T {
  const wrapper = Object.create(target) as T
  for (const method of METHODS) {
    const value = (...values: unknown[]): void => {
      target[method](...marked(values))
    }
    Object.defineProperty(wrapper, method, { value, writable: true, configurable: true })
  }
  return wrapper
}

/** Prefixes the first value, which may be a format string for the others. */
function marked(values: unknown[]): unknown[] {
  const traceContext = activeTraceContext()
  if (traceContext === undefined || values.length === 0) return values
  const mark = `${CPID_ID}="${traceContext.cpid}"`
  const [first, ...others] = values
  return typeof first === 'string' ? [`${mark} ${first}`, ...others] : [mark, ...values]
}
