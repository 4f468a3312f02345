import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ScrapedMetrics } from '../../../lab/harness/causeway/scraped-metrics.ts'
import { freePorts } from '../../../lab/harness/free-ports.ts'
import { installPeers } from '../../../lab/peers/install-peers.ts'
import type { Scene } from '../support/scene.ts'
import { COLLECTOR_IS_READY } from './start-collector.ts'

const EXAMPLE = new URL('../../../examples/fleet/collector.yaml', import.meta.url)

/** Without TLS; tries again soon, since a test waits for it. */
const HERE = `
    tls: { insecure: true }
    timeout: 30s
    retry_on_failure: { initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0s }`

interface Gateway {
  readonly otlpHttp: string
  metrics(): Promise<ScrapedMetrics>
}

/** Starts the Collector of examples/fleet in front of these Causeways, by their clusters. */
export async function startGateway(
  scene: Scene,
  endpoints: Readonly<Record<string, string>>,
): Promise<Gateway> {
  const { collector } = await installPeers(['collector'])
  const [grpc = 0, http = 0, metrics = 0] = await freePorts(3)
  const path = join(scene.directory, 'gateway.yaml')
  let config = (await readFile(EXAMPLE, 'utf8'))
    .replace('0.0.0.0:4317', `127.0.0.1:${grpc}`)
    .replace('0.0.0.0:4318', `127.0.0.1:${http}`)
    .replace('host: 0.0.0.0, port: 8888', `host: 127.0.0.1, port: ${metrics}`)
    .replace('/var/lib/otelcol/queue', join(scene.directory, 'gateway-queue'))
    .replaceAll('\n    retry_on_failure: { max_elapsed_time: 0s }', HERE)
  for (const [cluster, endpoint] of Object.entries(endpoints))
    config = config.replace(`causeway-${cluster}.example:4317`, endpoint)
  await writeFile(path, config)
  const program = scene.start({ name: 'gateway', command: collector, args: ['--config', path] })
  await scene.eventually(() => {
    if (!program.said(COLLECTOR_IS_READY)) throw new Error('the Collector does not say that it is ready')
  })
  return { otlpHttp: `127.0.0.1:${http}`, metrics: () => ScrapedMetrics.from(metrics) }
}
