import { setTimeout as sleep } from 'node:timers/promises'
import { diag, DiagLogLevel, logs, trace, type Logger, type Tracer } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { ApiClient } from './api-client.ts'
import type { Report } from './report.ts'

/** What a process of the demo works with. */
export interface Stage {
  client: ApiClient
  tracer: Tracer
  logger: Logger
  /** Aborts when the demo lets go of this process. */
  signal: AbortSignal
  report: (report: Report) => void
}

const LONGEST_FLUSH_MS = 4_000
const SCOPE = 'causeway-demo'
const SILENT = { info: () => undefined, debug: () => undefined, verbose: () => undefined }

/**
 * Runs a process of the demo: until `play` is over, or until the demo ends the channel between them, on purpose or by
 * dying. What the SDK still holds is sent first. The SDK takes its settings from the usual OTEL_ variables.
 */
export async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  for (const event of ['disconnect', 'SIGINT', 'SIGTERM']) process.once(event, () => stop.abort())
  if (!process.connected) stop.abort()
  diag.setLogger({ error: complain, warn: complain, ...SILENT }, DiagLogLevel.WARN)
  const sdk = new NodeSDK()
  sdk.start()
  const tracer = trace.getTracer(SCOPE)
  try {
    await play({
      client: new ApiClient(process.env['DEMO_API_SERVER'] ?? '', tracer),
      tracer,
      logger: logs.getLogger(SCOPE),
      signal: stop.signal,
      report: (report) => {
        if (process.connected) process.send?.(report)
      },
    })
  } catch (error) {
    if (!stop.signal.aborted) {
      complain(error instanceof Error ? error.message : String(error))
      process.exitCode = 1
    }
  }
  // The SDK has complained already about what it could not send.
  await Promise.race([sdk.shutdown().catch(() => undefined), sleep(LONGEST_FLUSH_MS)])
  process.exit()
}

/** One line for what may be an error with its stack, written as JSON. */
function complain(message: string): void {
  const whole = /"message":"((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message
  console.error(whole.split('\n', 1).join(''))
}
