import { appendFileSync } from 'node:fs'
import type { Signal } from '../../../src/model/otlp-requests.ts'
import { EXPORT_REQUEST } from '../../../src/model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import type { Transport } from '../../../src/model/outbox.ts'
import type { ShelfExporterSettings } from './shelf-exporter.ts'

export function openTransport({ file }: ShelfExporterSettings, signal: Signal): Transport {
  return {
    send(request) {
      appendFileSync(file, `${JSON.stringify(jsonOfProtobuf(EXPORT_REQUEST[signal], request))}\n`)
      return Promise.resolve({ kind: 'delivered', refused: 0, message: '' })
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
