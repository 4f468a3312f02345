import { type SentSignal } from '../model/ingest.ts'
import { type Transport } from '../model/send-outcome.ts'
import { errorText } from './error-text.ts'
import { delivered } from './export-reply.ts'
import { logLine, logLines } from './log-text.ts'
import { metricLine, metricLines } from './metric-text.ts'
import { type RequestItem, walkRequest } from './request-walk.ts'
import { spanLine, spanLines } from './span-text.ts'

export interface DebugTransportSettings {
  /** basic: one line a request. normal: also one for each span. detailed: also one for each fact of a span. */
  verbosity: 'basic' | 'normal' | 'detailed'
  /** What the requests hold; traces when absent. */
  signal?: SentSignal
  /** Takes one line, without its end. */
  write: (line: string) => void
}

interface Shown {
  title: string
  groups: string
  units: string
  line: (item: RequestItem) => string
  lines: (item: RequestItem) => string[]
}

const SHOWN: Record<SentSignal, Shown> = {
  traces: { title: 'Traces', groups: 'resource spans', units: 'spans', line: spanLine, lines: spanLines },
  logs: { title: 'Logs', groups: 'resource logs', units: 'log records', line: logLine, lines: logLines },
  metrics: {
    title: 'Metrics',
    groups: 'resource metrics',
    units: 'metrics',
    line: metricLine,
    lines: metricLines,
  },
}

/** The `debug` exporter: shows requests to a person instead of sending them, and delivers all it can read. */
export function openDebugTransport({
  verbosity,
  signal = 'traces',
  write,
}: DebugTransportSettings): Transport {
  const shown = SHOWN[signal]

  function show(request: Uint8Array): void {
    const { resources, items } = walkRequest(request)
    const lines = items.flatMap((item) => linesOf(item))
    write(`${shown.title} {"${shown.groups}": ${resources}, "${shown.units}": ${items.length}}`)
    for (const line of lines) write(line.replaceAll(/[\n\r\t]+/g, ' '))
  }

  function linesOf(item: RequestItem): string[] {
    switch (verbosity) {
      case 'basic':
        return []
      case 'normal':
        return [shown.line(item)]
      case 'detailed':
        return shown.lines(item)
    }
  }

  return {
    send(request) {
      try {
        show(request)
        return Promise.resolve(delivered(0, ''))
      } catch (error) {
        const reason = `cannot be shown: ${errorText(error)}`
        return Promise.resolve({ kind: 'refused', splittable: true, reason })
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
