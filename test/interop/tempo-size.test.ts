import { expect, test } from '@jest/globals'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { countedByTempo } from '../support/sent-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

/** What Tempo takes of a trace unless it is told otherwise (`max_bytes_per_trace`); it drops the rest. */
const TEMPO_TAKES = 5_000_000
const NODES = 5_000

test('of the rollout of a DaemonSet to 5,000 nodes Tempo is sent no trace that it would cut, however spans are batched', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1), object: 'apps/v1/daemonsets/kube-system/agent' }])
  for (let node = 1; node <= NODES; node++) {
    const pod = `v1/pods/kube-system/agent-${node}?uid=${node}`
    const span = (at: number, attributes: Record<string, unknown>): SpanSketch => ({
      trace: node * 2 + at,
      id: node * 2 + at,
      cpid: cpid(1),
      start: node + at,
      attributes,
    })
    writer.spans('daemonset-controller', [span(0, { 'cpid.wrote': [`${pod}&rv=${node}`] })])
    // The kubelet of each node, with five hundred bytes of resource attributes.
    const kubelet = { 'cpid.observed': [`${pod}&rv=${node}`] }
    writer.spans(`kubelet-${node}`, [span(1, kubelet)], `node-${node}-${'x'.repeat(450)}`)
  }
  writer.pass(300_001)
  const sent = writer.db
    .prepare<[], number>('SELECT count(*) FROM outbox WHERE span IS NOT NULL')
    .pluck()
    .get()
  expect(sent).toBe(NODES * 2)
  for (const mostSpans of [1, 8_192, 1_000_000]) {
    const counted = [...countedByTempo(writer.db, mostSpans).values()]
    expect(Math.max(...counted)).toBeLessThanOrEqual(TEMPO_TAKES)
  }
}, 120_000)
