import type { SentSignal } from '../../model/ingest.ts'
import type { Transport } from '../../model/send-outcome.ts'
import { jsonOfProtobuf } from '../../otlp/json/protobuf-to-json.ts'
import { EXPORT_REQUEST } from '../../otlp/json/schema.ts'
import type { SendingHost } from '../exporter-type.ts'
import { openHttpTransport } from './http-transport.ts'
import { urlOf, type OtlpHttpSettings } from './otlp-http-exporter.ts'

/** As the configuration has it. */
export function openTransport(settings: OtlpHttpSettings, signal: SentSignal, host: SendingHost): Transport {
  const { clock, userAgent, onTrouble, credentials, longestMs: timeoutMs = settings.timeoutMs } = host
  const toJson = (request: Uint8Array): string =>
    JSON.stringify(jsonOfProtobuf(EXPORT_REQUEST[signal], request))
  return openHttpTransport(
    {
      ...settings,
      userAgent,
      onTrouble,
      credentials,
      timeoutMs,
      url: urlOf(settings, signal),
      ...(settings.encoding === 'json' && { toJson }),
    },
    clock,
  )
}
