import { expect, test } from '@jest/globals'
import { type Cascade, cascadeText } from '../../packages/kubectl-plugin/plugin-text.ts'

const CHANGE: Cascade = {
  ...{ root: '1', state: 'settled', start: '2026-01-01T00:00:00Z', durationMs: 1_000, spans: 0 },
  ...{ object: 'apps/v1/deployments/shop/web', service: 'kubectl', actor: 'alice', reason: null },
  ...{ missing: 0, gaps: 0, traces: [] },
}

test('a cascade of more spans than fit into one call is drawn', () => {
  const span = {
    ...{ name: 'patch v1/pods', service: 'kubelet', cpid: null, offsetMs: 5, durationMs: 1, status: 0 },
    synthetic: false,
  }
  const spans = Array.from({ length: 200_000 }, (_, at) => ({ ...span, depth: 1 + (at % 2) }))
  const [head, first, second, ...more] = cascadeText(CHANGE, spans, 'shop').split('\n')
  expect(head).toBe('alice changed deployment/web: 200000 steps in 1.0 s, settled')
  expect([first, second]).toEqual(['+5 ms  kubelet    patch v1/pods', '+5 ms    kubelet  patch v1/pods'])
  expect(more).toHaveLength(199_999)
})
