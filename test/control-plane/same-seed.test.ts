import { test, expect } from '@jest/globals'
import type { ControlPlane } from '../../packages/control-plane/control-plane.ts'
import { deployment, service } from '../../packages/control-plane/manifests.ts'
import type { Recorder } from '../../packages/control-plane/telemetry/recorder.ts'
import { virtualRun } from '../../packages/control-plane/virtual-run.ts'

const WEB = { name: 'web', namespace: 'default' }

async function scenario(plane: ControlPlane): Promise<void> {
  await plane.kubectl.create('v1/services', service('web'))
  await plane.kubectl.create('apps/v1/deployments', deployment('web', 3))
  await plane.settled(5_000)
  await plane.kubectl.scale(WEB, 1)
  await plane.settled(5_000)
  await plane.kubectl.delete('apps/v1/deployments', WEB)
  await plane.settled(5_000)
}

/** All that would be sent. */
function asText({ spans, records }: Recorder): string {
  const sent = [
    ...spans.map((span) => {
      const { name, kind, status, attributes, events, links, startTime, endTime, parentSpanContext } = span
      const ids = [span.spanContext(), parentSpanContext, span.resource.attributes]
      return [name, kind, status, attributes, events, links, startTime, endTime, ...ids]
    }),
    ...records.map(({ hrTime, hrTimeObserved, body, eventName, attributes, spanContext, resource }) => {
      return [hrTime, hrTimeObserved, body, eventName, attributes, spanContext, resource.attributes]
    }),
  ]
  return sent.map((one) => JSON.stringify(one)).join('\n')
}

test('a run is a function of its seed', async () => {
  const settings = { latency: { watchDrops: 0.1, watchExpires: 0.1 } }
  const one = asText(await virtualRun({ ...settings, seed: 1 }, scenario))
  const again = asText(await virtualRun({ ...settings, seed: 1 }, scenario))
  const other = asText(await virtualRun({ ...settings, seed: 2 }, scenario))
  expect(one.split('\n').length).toBeGreaterThan(50)
  expect(again).toBe(one)
  expect(other).not.toBe(one)
})
