import { appendFileSync } from 'node:fs'
import type { SentSignal } from '../../../src/model/ingest.ts'
import type { Transport } from '../../../src/model/send-outcome.ts'
import { jsonOfProtobuf } from '../../../src/otlp/json/protobuf-to-json.ts'
import { EXPORT_REQUEST } from '../../../src/otlp/json/schema.ts'
import type { ShelfExporterSettings } from './shelf-exporter.ts'

export function openTransport({ file }: ShelfExporterSettings, signal: SentSignal): Transport {
  return {
    send(request) {
      appendFileSync(file, `${JSON.stringify(jsonOfProtobuf(EXPORT_REQUEST[signal], request))}\n`)
      return Promise.resolve({ kind: 'delivered', refused: 0, message: '' })
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
