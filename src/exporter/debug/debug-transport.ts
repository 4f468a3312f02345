import type { SentSignal } from '../../model/ingest.ts'
import type { Transport } from '../../model/send-outcome.ts'
import { errorText } from '../../model/error-text.ts'
import { delivered } from '../export-reply.ts'
import { logLine, logLines, type LogRecordJson } from './log-text.ts'
import { metricLine, metricLines, type MetricJson } from './metric-text.ts'
import { requestItems, type RequestItem } from './request-items.ts'
import { spanLine, spanLines, type SpanJson } from './span-text.ts'
import type { SendingHost } from '../exporter-type.ts'
import type { DebugExporterSettings } from './debug-exporter.ts'

type Verbosity = 'basic' | 'normal' | 'detailed'

export interface DebugTransportSettings {
  /** basic: one line a request. normal: also one for each span. detailed: also one for each fact of a span. */
  verbosity: Verbosity
  /** What the requests hold; traces when absent. */
  signal?: SentSignal
  /** Takes one line, without its end. */
  write: (line: string) => void
}

type Show = (request: Uint8Array, verbosity: Verbosity) => string[]

const SHOW: Record<SentSignal, Show> = {
  traces: (request, verbosity) => {
    const { resources, items } = requestItems<SpanJson>('traces', request)
    const title = `Traces {"resource spans": ${resources}, "spans": ${items.length}}`
    return [title, ...itemLines(items, verbosity, spanLine, spanLines)]
  },
  logs: (request, verbosity) => {
    const { resources, items } = requestItems<LogRecordJson>('logs', request)
    const title = `Logs {"resource logs": ${resources}, "log records": ${items.length}}`
    return [title, ...itemLines(items, verbosity, logLine, logLines)]
  },
  metrics: (request, verbosity) => {
    const { resources, items } = requestItems<MetricJson>('metrics', request)
    const title = `Metrics {"resource metrics": ${resources}, "metrics": ${items.length}}`
    return [title, ...itemLines(items, verbosity, metricLine, metricLines)]
  },
}

/** As the configuration has it. */
export function openTransport(
  { verbosity }: DebugExporterSettings,
  signal: SentSignal,
  { show }: Pick<SendingHost, 'show'>,
): Transport {
  return openDebugTransport({ verbosity, signal, write: show })
}

/** The `debug` exporter: shows requests to a person instead of sending them, and delivers all it can read. */
export function openDebugTransport({
  verbosity,
  signal = 'traces',
  write,
}: DebugTransportSettings): Transport {
  return {
    send(request) {
      try {
        for (const line of SHOW[signal](request, verbosity)) write(line.replaceAll(/[\n\r\t]+/g, ' '))
        return Promise.resolve(delivered(0, ''))
      } catch (error) {
        const reason = `cannot be shown: ${errorText(error)}`
        return Promise.resolve({ kind: 'refused', splittable: true, reason })
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function itemLines<T>(
  items: RequestItem<T>[],
  verbosity: Verbosity,
  line: (item: RequestItem<T>) => string,
  lines: (item: RequestItem<T>) => string[],
): string[] {
  switch (verbosity) {
    case 'basic':
      return []
    case 'normal':
      return items.map(line)
    case 'detailed':
      return items.flatMap(lines)
  }
}
