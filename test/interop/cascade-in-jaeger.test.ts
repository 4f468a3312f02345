import { expect } from '@jest/globals'
import { sendRecorded } from '../../packages/control-plane/telemetry/send-recorded.ts'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { recordStory } from './support/recorded-story.ts'
import { runDemo, STORY_SERVICES, traceIdOf } from './support/run-demo.ts'
import { sceneTest, type Scene } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { expectGolden } from './traces/golden-file.ts'
import { cpidOf, goldenTrace, servicesAbove } from './traces/golden-trace.ts'
import { attribute, type PlacedSpan } from './traces/otlp-json.ts'
import { legacyFaults, traceFaults } from './traces/trace-faults.ts'

const JAEGER = 'otlp_grpc/jaeger'
/** Whose span hangs below whose, from the operator down. */
const CAUSES = ['kubectl', 'deployment-controller', 'replicaset-controller', 'scheduler', 'kubelet']

async function startAll(scene: Scene) {
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  // What is recorded in virtual time is old.
  const set = { 'connectors.cpid.retention.max_age': '0s' }
  return { jaeger, causeway: await Causeway.start(scene, { exporters, set }) }
}

/** The services above each span of that name, in the trace. */
function waysTo(name: string, spans: readonly PlacedSpan[]): string[][] {
  return spans.filter((span) => span.name === name).map((span) => servicesAbove(span, spans))
}

sceneTest('an operator finds one change of six components as one trace in Jaeger', async (scene) => {
  const { jaeger, causeway } = await startAll(scene)
  const { alpha, gamma } = await runDemo(scene, causeway.otlpGrpc)
  await untilDelivered(scene, causeway, JAEGER, { settled: 2 })

  const traceId = traceIdOf(alpha)
  const spans = await jaeger.trace(traceId)
  expect(traceFaults(spans)).toEqual([])
  expect([...new Set(spans.map(({ service }) => service))].sort()).toEqual(STORY_SERVICES)
  const root = spans.find(({ parentSpanId }) => !parentSpanId)
  expect(root).toMatchObject({ traceId, name: 'change apps/v1/deployments' })
  expect(attribute(root ?? {}, 'cpid.id')).toEqual({ stringValue: alpha })
  expect(new Set(spans.map(cpidOf))).toEqual(new Set([alpha, gamma]))
  expect(legacyFaults(await jaeger.legacyTrace(traceId), root?.spanId ?? '')).toEqual([])
  expect(waysTo('schedule Pod', spans)).toEqual([CAUSES.slice(0, 4), CAUSES.slice(0, 4)])
  expect(waysTo('start Pod', spans)).toEqual([CAUSES, CAUSES])
  const toEndpoints = waysTo('reconcile Endpoints', spans)
  expect(toEndpoints).toContainEqual([...CAUSES, 'endpoints-controller'])
  const mergelogs = causeway.stored('SELECT source_count AS sources FROM audit_mergelogs ORDER BY time')
  expect(mergelogs).toEqual([{ sources: 0 }, { sources: 0 }, { sources: 2 }])
})

sceneTest('the same story, told again, is the same trace in Jaeger', async (scene) => {
  const { jaeger, causeway } = await startAll(scene)
  const { recorder, alpha } = await recordStory()
  await sendRecorded(recorder, `http://${causeway.otlpHttp}`)
  await untilDelivered(scene, causeway, JAEGER, { settled: 2 })
  const spans = await jaeger.trace(traceIdOf(alpha))
  expect(traceFaults(spans)).toEqual([])
  expectGolden('alpha-in-jaeger.json', goldenTrace(spans))
})
