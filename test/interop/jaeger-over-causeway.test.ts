import { expect } from '@jest/globals'
import { cascadesForBackends, exchangesWith, JAEGER_REQUESTS } from '../api/support/jaeger-exchanges.ts'
import { QueryApi } from '../api/support/query-api.ts'
import { remoteStorage } from './peers/jaeger-config.ts'
import { freeJaegerPorts, startJaeger } from './peers/start-jaeger.ts'
import { sceneTest } from './support/scene.ts'

const TIMES = 'start=1767225600000000&end=1767229200000000'
/** Until the evening of the day of the cascades. */
const DEPENDENCIES = 'endTs=1767312000000&lookback=86400000'

sceneTest('Jaeger on Causeway answers as Causeway itself', async (scene) => {
  const api = scene.use(await QueryApi.over(cascadesForBackends))
  const ports = await freeJaegerPorts()
  await startJaeger(scene, ports, remoteStorage(new URL(api.url).host))
  const requests = [
    ...JAEGER_REQUESTS,
    `/api/dependencies?${DEPENDENCIES}`,
    `/api/traces?service=odd&${TIMES}&tags=${encodeURIComponent('{"span.kind":"client"}')}`,
    `/api/traces?service=odd&${TIMES}&tags=${encodeURIComponent('{"error":"true","exception.message":"no"}')}`,
    `/api/traces?service=odd&${TIMES}&tags=${encodeURIComponent('{"exception.message":"yes"}')}`,
    `/api/traces?service=odd&${TIMES}&minDuration=10ms&maxDuration=11ms`,
    '/api/operations?service=odd&spanKind=client',
  ]
  const jaeger = await exchangesWith(`http://127.0.0.1:${ports.query}`, requests)
  expect(jaeger).toEqual(await exchangesWith(`${api.url}/jaeger`, requests))
  expect(api.troubles).toEqual([])
})
