import type { LogRecordProcessor, ReadableLogRecord } from '@opentelemetry/sdk-logs'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'

/** Keeps what the components send, in the order in which they do. */
export class Recorder {
  readonly spans: ReadableSpan[] = []
  readonly records: ReadableLogRecord[] = []

  spanProcessor(): SpanProcessor {
    return {
      onStart: () => undefined,
      onEnd: (span) => void this.spans.push(span),
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    }
  }

  logRecordProcessor(): LogRecordProcessor {
    return {
      onEmit: (record) => void this.records.push(record),
      enabled: () => true,
      forceFlush: () => Promise.resolve(),
      shutdown: () => Promise.resolve(),
    }
  }
}
