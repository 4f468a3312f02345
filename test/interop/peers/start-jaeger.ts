import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePorts } from '../../../lab/harness/free-ports.ts'
import type { Scene } from '../support/scene.ts'
import { installPeers } from '../../../lab/peers/install-peers.ts'
import { jaegerConfig, type JaegerPorts } from './jaeger-config.ts'
import { JaegerQuery } from './jaeger-query.ts'

/** Ports for a Jaeger that is to be started, perhaps later. */
export async function freeJaegerPorts(): Promise<JaegerPorts> {
  const [otlpGrpc = 0, otlpHttp = 0, query = 0, health = 0, metrics = 0] = await freePorts(5)
  return { otlpGrpc, otlpHttp, query, health, metrics }
}

/** Starts a Jaeger that keeps everything in memory, or in the storage that is given; resolves once it takes spans. */
export async function startJaeger(scene: Scene, ports: JaegerPorts, storage?: string): Promise<JaegerQuery> {
  const { jaeger } = await installPeers(['jaeger'])
  const config = join(scene.directory, `jaeger-${ports.query}.yaml`)
  await writeFile(config, jaegerConfig(ports, storage))
  scene.start({ name: 'jaeger', command: jaeger, args: ['--config', config] })
  await scene.eventually(async () => {
    const { status } = await fetch(`http://127.0.0.1:${ports.health}/status`)
    if (status !== 200) throw new Error(`Jaeger's health check answers ${status}`)
  })
  return new JaegerQuery(`http://127.0.0.1:${ports.query}`)
}
