import { context, type Context, type HrTime, type LoggerProvider } from '@opentelemetry/api'

/** A provider whose log records are those of whichever provider the context leads to, with times from the clock given. */
export function routedLoggers(leadTo: (from: Context) => LoggerProvider, now: () => HrTime): LoggerProvider {
  return {
    getLogger: (...scope) => ({
      emit(record) {
        const from = record.context ?? context.active()
        const time = now()
        leadTo(from)
          .getLogger(...scope)
          .emit({ timestamp: time, observedTimestamp: time, ...record })
      },
      enabled: (options) => {
        return leadTo(options?.context ?? context.active())
          .getLogger(...scope)
          .enabled(options)
      },
    }),
  }
}
