import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type { Recorder } from './recorder.ts'

type Result = { code: number; error?: Error }

const AT_ONCE = 512

/** Sends what was recorded to an OTLP/HTTP receiver such as `http://localhost:4318`, mergelogs and other logs first. */
export async function sendRecorded({ spans, records }: Recorder, url: string): Promise<void> {
  const logs = new OTLPLogExporter({ url: `${url}/v1/logs` })
  const traces = new OTLPTraceExporter({ url: `${url}/v1/traces` })
  for (let at = 0; at < records.length; at += AT_ONCE) {
    await taken((done) => logs.export(records.slice(at, at + AT_ONCE), done))
  }
  for (let at = 0; at < spans.length; at += AT_ONCE) {
    await taken((done) => traces.export(spans.slice(at, at + AT_ONCE), done))
  }
  await Promise.all([logs.shutdown(), traces.shutdown()])
}

function taken(send: (done: (result: Result) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    send(({ code, error }) =>
      code === 0 ? resolve() : reject(error ?? new Error('the receiver took nothing')),
    )
  })
}
