import { CPID_ID } from '../attributes.ts'
import { activeTraceContext } from '../context/active-trace-context.ts'

/** What is used of a logger that takes any number of values, as `console` does. */
export interface LineLogger {
  debug(...values: unknown[]): void
  error(...values: unknown[]): void
  info(...values: unknown[]): void
  log(...values: unknown[]): void
  warn(...values: unknown[]): void
}

const METHODS = ['debug', 'error', 'info', 'log', 'warn'] as const

/**
 * A console that puts `cpid.id="…"` in front of what is logged inside a trace context; everything else is as the given
 * console does it. Lines that are JSON get `cpidLogFields()` as fields instead.
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

/** The first value may be a format for the others, so it stays the first. */
function marked(values: unknown[]): unknown[] {
  const traceContext = activeTraceContext()
  if (traceContext === undefined || values.length === 0) return values
  const mark = `${CPID_ID}="${traceContext.cpid}"`
  const [first, ...others] = values
  return typeof first === 'string' ? [`${mark} ${first}`, ...others] : [mark, ...values]
}
