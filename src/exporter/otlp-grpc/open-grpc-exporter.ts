import type { SentSignal } from '../../model/ingest.ts'
import type { Transport } from '../../model/send-outcome.ts'
import type { SendingHost } from '../exporter-type.ts'
import { openGrpcTransport } from './grpc-transport.ts'
import type { OtlpGrpcSettings } from './otlp-grpc-exporter.ts'

/** As the configuration has it. */
export function openTransport(settings: OtlpGrpcSettings, signal: SentSignal, host: SendingHost): Transport {
  const { userAgent, onTrouble, credentials, longestMs: timeoutMs = settings.timeoutMs } = host
  return openGrpcTransport({ ...settings, signal, userAgent, onTrouble, credentials, timeoutMs })
}
