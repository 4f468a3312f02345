import { expect } from '@jest/globals'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { runDemo, STORY_SERVICES, traceIdOf } from './support/run-demo.ts'
import { sceneTest } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { expectGolden } from './traces/golden-file.ts'
import { attribute } from './traces/otlp-json.ts'
import { stableTrace } from './traces/stable-trace.ts'
import { legacyFaults, traceFaults } from './traces/trace-faults.ts'

sceneTest('an operator finds one change of five controllers as one trace in Jaeger', async (scene) => {
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const exporters = { 'otlp_grpc/jaeger': grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  const causeway = await Causeway.start(scene, { exporters })

  const { alpha, gamma } = await runDemo(scene, causeway.otlpGrpc)
  await untilDelivered(scene, causeway, 'otlp_grpc/jaeger', { settled: 2 })

  const traceId = traceIdOf(alpha)
  const spans = await jaeger.trace(traceId)
  expect(traceFaults(spans)).toEqual([])
  expect([...new Set(spans.map(({ service }) => service))].sort()).toEqual(STORY_SERVICES)
  const root = spans.find(({ parentSpanId }) => !parentSpanId)
  expect(root).toMatchObject({ traceId, name: 'change apps/v1/deployments' })
  expect(attribute(root ?? {}, 'cpid.id')).toEqual({ stringValue: alpha })
  expect(spans.map((span) => attribute(span, 'cpid.id')?.stringValue)).toContain(gamma)
  expect(legacyFaults(await jaeger.legacyTrace(traceId), root?.spanId ?? '')).toEqual([])
  expectGolden('alpha-in-jaeger.json', stableTrace(spans))
})
