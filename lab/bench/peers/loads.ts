import type { Protocol } from '../../harness/clients/otlp-client.ts'

export const LOADS = ['large', 'small', 'json'] as const
export type LoadName = (typeof LOADS)[number]

interface Load {
  label: string
  protocol: Protocol
  spansPerRequest: number
  /** Requests under way at once. */
  inFlight: number
}

/** Small requests are those of many senders, so that more of them are under way. */
export const LOAD: Record<LoadName, Load> = {
  large: { label: '512 spans a request, gRPC', protocol: 'grpc', spansPerRequest: 512, inFlight: 16 },
  small: { label: '20 spans a request, gRPC', protocol: 'grpc', spansPerRequest: 20, inFlight: 64 },
  json: {
    label: '512 spans a request, HTTP/JSON',
    protocol: 'http/json',
    spansPerRequest: 512,
    inFlight: 16,
  },
}
