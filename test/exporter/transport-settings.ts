import { type GrpcTransportSettings } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { type HttpTransportSettings } from '../../src/exporter/otlp-http/http-transport.ts'

const common = {
  tls: { insecure: true, insecureSkipVerify: false },
  headers: {},
  compression: 'none' as const,
  timeoutMs: 20_000,
  userAgent: 'causeway/0.1.0',
}

export function grpcSettings(
  port: number,
  changes: Partial<GrpcTransportSettings> = {},
): GrpcTransportSettings {
  return { ...common, host: '127.0.0.1', port, ...changes }
}

export function httpSettings(
  url: string,
  changes: Partial<HttpTransportSettings> = {},
): HttpTransportSettings {
  return { ...common, url, ...changes }
}

export const REQUEST = new TextEncoder().encode('an export request, repeated, repeated, repeated')

/** A signal that nobody aborts. */
export const going = (): AbortSignal => new AbortController().signal

/** A request that a backend can read, whatever it is to hold. */
export const emptyRequest = (): Uint8Array => new Uint8Array()
