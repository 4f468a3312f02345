import { expect } from '@jest/globals'
import type { JaegerQuery } from './peers/jaeger-query.ts'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { Causeway, grpcExporter } from './support/causeway.ts'
import { runDemo, traceIdOf } from './support/run-demo.ts'
import { sceneTest, type Scene } from './support/scene.ts'
import { untilDelivered } from './support/until-delivered.ts'
import { attribute, isSynthetic, originalKey, spanKey, type PlacedSpan } from './traces/otlp-json.ts'
import { legacyFaults, traceFaults } from './traces/trace-faults.ts'

const JAEGER = 'otlp_grpc/jaeger'

async function tellStory(scene: Scene, mode: 'links' | 'passthrough') {
  const ports = await freeJaegerPorts()
  const jaeger = await startJaeger(scene, ports)
  const causeway = await Causeway.start(scene, {
    exporters: { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) },
    set: { 'connectors.cpid.linking.mode': mode },
  })
  const { alpha, beta, gamma } = await runDemo(scene, causeway.otlpGrpc)
  await untilDelivered(scene, causeway, JAEGER, { settled: 3 })
  const stored = causeway.stored<{ traceId: string; spanId: string }>(
    'SELECT trace_id AS traceId, span_id AS spanId FROM audit_spans',
  )
  return { jaeger, stored, changes: [alpha, beta, gamma].map(traceIdOf) }
}

/** The traces with these ids; none may have a fault, as a trace or on Jaeger's page. */
async function soundTraces(jaeger: JaegerQuery, traceIds: readonly string[]): Promise<PlacedSpan[]> {
  const traces = await Promise.all(traceIds.map((traceId) => jaeger.trace(traceId)))
  for (const spans of traces) {
    expect(traceFaults(spans)).toEqual([])
    const root = spans.find(({ parentSpanId }) => !parentSpanId)
    const legacy = await jaeger.legacyTrace(root?.traceId ?? '')
    expect(legacyFaults(legacy, root?.spanId ?? '')).toEqual([])
  }
  return traces.flat()
}

function linkTargets(spans: readonly PlacedSpan[]): string[] {
  return spans.flatMap(({ links = [] }) => links.map(spanKey))
}

sceneTest('mode links: every change is a trace, and links lead from each to the other', async (scene) => {
  const { jaeger, stored, changes } = await tellStory(scene, 'links')
  const spans = await soundTraces(jaeger, changes)

  const moved = spans.filter((span) => !isSynthetic(span))
  expect(moved.map(originalKey).sort()).toEqual(stored.map(spanKey).sort())
  const targets = linkTargets(spans)
  expect(spans.map(spanKey)).toEqual(expect.arrayContaining(targets))
  const [alpha = '', beta = '', gamma = ''] = changes
  const linked = spans.flatMap(({ traceId, links = [] }) => links.map((link) => [traceId, link.traceId]))
  expect(linked.sort()).toEqual(
    [
      [alpha, gamma],
      [beta, gamma],
      [gamma, alpha],
      [gamma, beta],
    ].sort(),
  )
})

sceneTest('mode passthrough: spans stay in their traces and link to the changes', async (scene) => {
  const { jaeger, stored, changes } = await tellStory(scene, 'passthrough')
  const originals = await soundTraces(jaeger, [...new Set(stored.map(({ traceId }) => traceId))])
  const ofChanges = await soundTraces(jaeger, changes)

  expect(originals.map(spanKey).sort()).toEqual(stored.map(spanKey).sort())
  expect(ofChanges.every(isSynthetic)).toBe(true)
  const targets = linkTargets([...originals, ...ofChanges])
  expect(ofChanges.map(spanKey)).toEqual(expect.arrayContaining(targets))
  for (const span of originals) {
    const roots = attribute(span, 'cpid.roots')?.arrayValue?.values?.map(
      ({ stringValue = '' }) => stringValue,
    )
    expect(roots).not.toEqual([])
    expect(span.links?.map(({ traceId }) => traceId)).toEqual(
      expect.arrayContaining((roots ?? ['none']).map(traceIdOf)),
    )
  }
})
