import type { Context, TextMapGetter, TextMapPropagator, TextMapSetter } from '@opentelemetry/api'
import { getTraceContext, setTraceContext } from './active-trace-context.ts'
import { readAncestors, writeAncestors } from './ancestor-list.ts'
import { checkLimit, MAX_ANCESTORS } from '../limits.ts'
import { readCpid } from './read-cpid.ts'

export interface PropagatorSettings {
  /** The key, such as the name of a header, that the CPID travels under: `cpid` unless said otherwise. */
  cpidKey?: string
  /** The key that the ancestors travel under, comma-separated and nearest first: `cpid-ancestors` unless said otherwise. */
  ancestorsKey?: string
  /** The most ancestors that are taken from a carrier: 10 unless said otherwise. */
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

  /** Writes the context's trace context, if it has one; an empty list too, lest the carrier keep another's. */
  inject<Carrier>(context: Context, carrier: Carrier, setter: TextMapSetter<Carrier>): void {
    const traceContext = getTraceContext(context)
    if (traceContext === undefined) return
    setter.set(carrier, this.#cpidKey, traceContext.cpid)
    setter.set(carrier, this.#ancestorsKey, writeAncestors(traceContext.ancestors))
  }

  /** The context with the carrier's trace context; the context as it is when the carrier has no CPID. */
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

/** A header that came several times is a list in parts (RFC 9110, section 5.3). */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'string' ? value : ''
}
