import type { Scene } from '../support/scene.ts'
import { installPeers } from '../../../lab/peers/install-peers.ts'

interface Generated {
  /** `host:port` of the OTLP receiver. */
  readonly endpoint: string
  readonly protocol?: 'grpc' | 'http'
  /** How many traces or log records. */
  readonly count: number
  readonly service: string
  /** How many a second; as many as it can unless given, which is for no more than 2,000 spans: it drops others. */
  readonly rate?: number
  /** For each trace. */
  readonly childSpans?: number
  /** For each span. */
  readonly links?: number
  /** Stands on every span or log record. */
  readonly attributes?: Readonly<Record<string, string>>
}

/** Has telemetrygen send traces or log records; resolves once everything was acknowledged. */
export async function runTelemetrygen(
  scene: Scene,
  signal: 'traces' | 'logs',
  { endpoint, protocol = 'grpc', count, service, rate = 0, childSpans, links, attributes = {} }: Generated,
): Promise<void> {
  const { telemetrygen } = await installPeers(['telemetrygen'])
  const args = [
    signal,
    '--otlp-insecure',
    `--otlp-endpoint=${endpoint}`,
    `--${signal}=${count}`,
    `--rate=${rate}`,
    `--service=${service}`,
    '--batch-size=20',
    ...(protocol === 'http' ? ['--otlp-http'] : []),
    ...(childSpans === undefined ? [] : [`--child-spans=${childSpans}`]),
    ...(links === undefined ? [] : [`--span-links=${links}`]),
    ...Object.entries(attributes).map(([key, value]) => `--telemetry-attributes=${key}="${value}"`),
  ]
  await scene.start({ name: 'telemetrygen', command: telemetrygen, args }).output()
}
