import { context, logs, trace, type HrTime } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider, type LogRecordProcessor } from '@opentelemetry/sdk-logs'
import { TracerProvider, type IdGenerator, type SpanProcessor } from '@opentelemetry/sdk-trace'
import { CpidLogRecordProcessor, CpidSpanProcessor } from 'causeway-instrumentation'
import type { Chance } from '../chance.ts'
import type { Clock } from '../clock.ts'
import { componentOf } from './components.ts'
import { routedLoggers } from './routed-loggers.ts'
import { routedTracers } from './routed-tracers.ts'

export interface TelemetrySettings {
  clock: Clock
  /** Makes span, trace and instance ids. */
  chance: Chance
  cluster: string
  /** Where the spans of each component go. */
  spanProcessor: () => SpanProcessor
  /** Where its log records go, mergelogs among them. */
  logRecordProcessor: () => LogRecordProcessor
}

const NS_PER_MS = 1_000_000
const MS_PER_SECOND = 1_000

/**
 * Lets one process stand for many: every component has the OpenTelemetry providers that a process of its own would have,
 * and the global API leads to those of the component at work. Spans and log records have the time of the clock.
 */
export class ProcessTelemetry implements AsyncDisposable {
  readonly #settings: TelemetrySettings
  readonly #tracers = new Map<string, TracerProvider>()
  readonly #loggers = new Map<string, LoggerProvider>()

  constructor(settings: TelemetrySettings) {
    this.#settings = settings
    const now = () => hrTime(settings.clock.nowMs())
    context.setGlobalContextManager(new AsyncLocalStorageContextManager())
    trace.setGlobalTracerProvider(routedTracers((from) => this.#tracersOf(componentOf(from)), now))
    logs.setGlobalLoggerProvider(routedLoggers((from) => this.#loggersOf(componentOf(from)), now))
  }

  /** Sends what is still held, and leaves the global API as it was. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      [...this.#tracers.values(), ...this.#loggers.values()].map((provider) => provider.shutdown()),
    )
    trace.disable()
    logs.disable()
    context.disable()
  }

  #tracersOf(component: string): TracerProvider {
    return remembered(this.#tracers, component, () => {
      const { chance, spanProcessor } = this.#settings
      return new TracerProvider({
        resource: this.#resourceOf(component),
        idGenerator: idsFrom(chance.fork(`ids of ${component}`)),
        spanProcessors: [new CpidSpanProcessor(), spanProcessor()],
      })
    })
  }

  #loggersOf(component: string): LoggerProvider {
    return remembered(this.#loggers, component, () => {
      const processors = [new CpidLogRecordProcessor(), this.#settings.logRecordProcessor()]
      return new LoggerProvider({ resource: this.#resourceOf(component), processors })
    })
  }

  #resourceOf(component: string) {
    return resourceFromAttributes({
      'service.name': component,
      'service.instance.id': this.#settings.chance.fork(component).uuid(),
      'k8s.cluster.name': this.#settings.cluster,
    })
  }
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  let found = known.get(key)
  if (found === undefined) known.set(key, (found = make()))
  return found
}

function idsFrom(chance: Chance): IdGenerator {
  return { generateTraceId: () => chance.hex(32), generateSpanId: () => chance.hex(16) }
}

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / MS_PER_SECOND)
  return [seconds, Math.floor((ms - seconds * MS_PER_SECOND) * NS_PER_MS)]
}
