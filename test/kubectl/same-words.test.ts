import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Cascade, cascadeText } from '../../packages/kubectl-plugin/plugin-text.ts'
import { changeSentence } from '../../web/src/text/change-sentence.ts'

const COMMANDS = [
  'apply',
  'annotate',
  'create',
  'delete',
  'edit',
  'expose',
  'label',
  'patch',
  'rollout',
  'scale',
]
const PARTS = ['authored', 'binding', 'creation', 'deletion', 'removal', 'scale', 'status']
const reason = fc.oneof(
  fc.constantFrom(...COMMANDS).map((command) => `kubectl ${command}`),
  fc.constantFrom(...PARTS).map((part) => `${part} by alice`),
  fc
    .tuple(fc.constantFrom('schedule', 'expiry', 'unknown'), fc.constantFrom(...PARTS))
    .map(([because, part]) => `${because}: ${part} by alice`),
  fc.constantFrom(null, 'fixes it', 'creates', 'create', ''),
)

const change = (because: string | null): Cascade => ({
  ...{ root: '', state: 'settled', start: '', durationMs: 0, spans: 0, missing: 0, gaps: 0 },
  ...{ object: 'v1/services/shop/web', service: 'kubectl', actor: 'alice', reason: because },
})

test('kubectl causeway says with the same verb as the dashboard what a change did', () => {
  fc.assert(
    fc.property(reason, (because) => {
      const [said = ''] = cascadeText(change(because), [], 'shop').split(' service/web')
      expect(said).toBe(changeSentence(change(because)).split(' service web')[0])
    }),
    { numRuns: 200 },
  )
})
