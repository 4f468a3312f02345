import { context, createContextKey, type Context } from '@opentelemetry/api'

const KEY = createContextKey('causeway.example.component')

/** Does work as a component of the control plane, such as `scheduler`; what it sends is told apart by that. */
export function asComponent<T>(name: string, work: () => T): T {
  return context.with(context.active().setValue(KEY, name), work)
}

export function componentOf(from: Context): string {
  const name = from.getValue(KEY)
  if (typeof name !== 'string') throw new Error('telemetry of no component; begin with asComponent')
  return name
}
