import { buildRequest, outgoingSpan } from '../../src/model/otlp/outgoing-records.ts'
import {
  cascadesForBackends,
  exchangesWith,
  JAEGER_REQUESTS,
  stored,
} from '../api/support/jaeger-exchanges.ts'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { sceneTest } from './support/scene.ts'
import { expectGolden } from './traces/golden-file.ts'

sceneTest('Jaeger answers as recorded, which is what Causeway is held to', async (scene) => {
  const ports = await freeJaegerPorts()
  await startJaeger(scene, ports)
  using writer = await cascadesForBackends()
  const queries = writer.queries()
  const traces = [...queries.tracesOfCascades({}), ...queries.tracesForwarded({})].flat()
  const items = traces.flatMap((trace) => [...trace.items()].flat())
  const spans = items.map((item) => ({ scope: item.scope, bytes: outgoingSpan(item) ?? Buffer.alloc(0) }))
  const sent = await fetch(`http://127.0.0.1:${ports.otlpHttp}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf' },
    body: buildRequest(spans, queries),
  })
  if (!sent.ok) throw new Error(`Jaeger answers ${sent.status}`)
  const exchanges = await exchangesWith(`http://127.0.0.1:${ports.query}`, JAEGER_REQUESTS)
  expectGolden('../../golden/exchanges/jaeger.json', stored(exchanges))
})
