import { expect } from '@jest/globals'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { runDemo, STORY_SERVICES, traceIdOf } from './support/run-demo.ts'
import { sceneTest } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { spanLines } from './traces/otlp-json.ts'
import { traceFaults } from './traces/trace-faults.ts'

const LATE = 'otlp_grpc/late'
const DEAD = 'otlp_grpc/dead'
const LONGEST_SHUTDOWN_MS = 30_000

sceneTest('backends that are down at first get everything, each once it is up', async (scene) => {
  const [latePorts, deadPorts] = [await freeJaegerPorts(), await freeJaegerPorts()]
  const exporters = {
    [LATE]: grpcExporter(`127.0.0.1:${latePorts.otlpGrpc}`),
    [DEAD]: grpcExporter(`127.0.0.1:${deadPorts.otlpGrpc}`),
  }
  const causeway = await Causeway.start(scene, { exporters })
  const traceId = traceIdOf((await runDemo(scene, causeway.otlpGrpc)).alpha)
  await scene.eventually(async () => {
    const metrics = await causeway.metrics()
    expect(metrics.sum('cpid_traces_settled')).toBe(2)
    expect(metrics.sum('otelcol_exporter_queue_size')).toBeGreaterThan(0)
    expect(metrics.sum('otelcol_exporter_sent_spans')).toBe(0)
  })

  const late = await startJaeger(scene, latePorts)
  await untilDelivered(scene, causeway, LATE, { settled: 2 })
  const spans = await late.trace(traceId)
  expect(traceFaults(spans)).toEqual([])
  expect([...new Set(spans.map(({ service }) => service))].sort()).toEqual(STORY_SERVICES)
  expect((await causeway.metrics()).sum('otelcol_exporter_sent_spans', { exporter: DEAD })).toBe(0)

  const stopping = performance.now()
  expect(await causeway.stop()).toBe(0)
  expect(performance.now() - stopping).toBeLessThan(LONGEST_SHUTDOWN_MS)

  const risen = await startJaeger(scene, deadPorts)
  await causeway.startAgain()
  await untilDelivered(scene, causeway, DEAD, {})
  expect(spanLines(await risen.trace(traceId))).toEqual(spanLines(spans))
})
