import type { Context, TextMapGetter, TextMapPropagator, TextMapSetter } from '@opentelemetry/api'
import { getTraceContext, setTraceContext } from './active-trace-context.ts'
import { readAncestors, writeAncestors } from './ancestor-list.ts'
import { checkLimit, MAX_ANCESTORS } from '../limits.ts'
import { readCpid } from './read-cpid.ts'

export interface PropagatorSettings {
  /** The key of the CPID, such as a header name; `cpid` unless given. */
  cpidKey?: string
  /** The key of the ancestors, comma-separated and nearest first; `cpid-ancestors` unless given. */
  ancestorsKey?: string
  /** The most ancestors read from a carrier; 10 unless given. */
  maxAncestors?: number
}

/** Carries a trace context in text maps such as HTTP headers (OpenTelemetry specification, Propagators API). */
export class CpidPropagator implements TextMapPropagator {
  readonly #cpidKey: string
  readonly #ancestorsKey: string
  readonly #maxAncestors: number

  /** Throws a RangeError when `maxAncestors` is not a whole number from 0 on. */
  constructor({ cpidKey, ancestorsKey, maxAncestors }: PropagatorSettings = {}) {
    this.#cpidKey = cpidKey ?? 'cpid'
    this.#ancestorsKey = ancestorsKey ?? 'cpid-ancestors'
    this.#maxAncestors = checkLimit('maxAncestors', maxAncestors ?? MAX_ANCESTORS, 0)
  }

  /** Writes the context's trace context, if it has one. An empty ancestor list is written too, to replace an old one. */
  inject<Carrier>(context: Context, carrier: Carrier, setter: TextMapSetter<Carrier>): void {
    const traceContext = getTraceContext(context)
    if (traceContext === undefined) return
    setter.set(carrier, this.#cpidKey, traceContext.cpid)
    setter.set(carrier, this.#ancestorsKey, writeAncestors(traceContext.ancestors))
  }

  /** The context with the carrier's trace context; unchanged when the carrier has no CPID. */
  extract<Carrier>(context: Context, carrier: Carrier, getter: TextMapGetter<Carrier>): Context {
    const cpid = readCpid(textOf(getter.get(carrier, this.#cpidKey)))
    if (cpid === undefined) return context
    const list = textOf(getter.get(carrier, this.#ancestorsKey))
    return setTraceContext(context, { cpid, ancestors: readAncestors(list, cpid, this.#maxAncestors) })
  }

  fields(): string[] {
    return [this.#cpidKey, this.#ancestorsKey]
  }
}

/** Joins repeated headers into one list (RFC 9110, section 5.3). */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'string' ? value : ''
}
