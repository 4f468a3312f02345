import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Cascade, cascadeText } from '../../packages/kubectl-plugin/plugin-text.ts'
import { colourIndex } from '../../web/src/parts/service-colour.ts'
import { changeSentence, reasonText } from '../../web/src/text/change-sentence.ts'
import { percent } from '../../web/src/text/duration.ts'

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
const command = fc.constantFrom(...COMMANDS).map((verb) => `kubectl ${verb}`)
const reason = fc.oneof(
  fc.constantFrom(...COMMANDS).map((command) => `kubectl ${command}`),
  fc.constantFrom(...PARTS).map((part) => `${part} by alice`),
  fc.constantFrom(...PARTS).map((part) => `worked out: ${part} by alice`),
  fc
    .tuple(fc.constantFrom('schedule', 'expiry', 'unknown'), fc.constantFrom(...PARTS))
    .map(([because, part]) => `${because}: ${part} by alice`),
  fc.constantFrom(null, 'fixes it', 'creates', 'create', ''),
)

const ROOT = '00000000-0000-4000-8000-000000000001'
const SPAN = {
  ...{ depth: 0, service: 'kubectl', cpid: ROOT, offsetMs: 0, durationMs: 1, status: 0, synthetic: false },
  wrote: ['v1/services/shop/web?uid=1'],
}

const change = (because: string | null, command?: string): Cascade => ({
  ...{ root: ROOT, state: 'settled', start: '', durationMs: 0, spans: 0, missing: 0, gaps: 0 },
  ...{ object: 'v1/services/shop/web', service: 'kubectl', actor: 'alice', reason: because },
  traces: command === undefined ? [] : [{ spans: [{ ...SPAN, name: command }] }],
})

test('kubectl causeway says with the same verb as the dashboard what a change did', () => {
  fc.assert(
    fc.property(reason, fc.option(command, { nil: undefined }), (because, by) => {
      const [said = ''] = cascadeText(change(because, by), [], 'shop').split(' service/web')
      expect(said).toBe(changeSentence(change(because), by).split(' service web')[0])
    }),
    { numRuns: 200 },
  )
})

test('a change whose mergelog was worked out is told as others are', () => {
  const reason = 'worked out: scale by alice'
  expect(changeSentence(change(reason))).toBe('alice scaled service web')
  expect(cascadeText(change(reason), [], 'shop')).toMatch(/^alice scaled service\/web: 0 steps/)
  expect(reasonText(reason)).toBe('worked out: scaled by alice')
})

test('a reason of their own does not hide what somebody did', () => {
  expect(changeSentence(change('bye'), 'kubectl delete')).toBe('alice deleted service web')
  expect(cascadeText(change('bye', 'kubectl delete'), [], 'shop')).toMatch(
    /^alice deleted service\/web: bye: /,
  )
})

test('a reason is shown in the same words, and one in somebody’s own words as it is', () => {
  expect(
    [
      ...['authored by alice', 'schedule: creation by cronjob-controller', 'status by kubelet', 'fixes it'],
      ...['kubectl create', 'moved by an hour'],
    ].map(reasonText),
  ).toEqual([
    ...[
      'changed by alice',
      'schedule: created by cronjob-controller',
      'status reported by kubelet',
      'fixes it',
    ],
    ...['kubectl create', 'moved by an hour'],
  ])
})

test('a service has the same colour, whichever services were shown before', () => {
  const names = Array.from({ length: 40 }, (_, at) => `controller-${at}`)
  const apart = names.map((name) => colourIndex(name))
  expect(names.toReversed().map(colourIndex).reverse()).toEqual(apart)
  expect(new Set(apart).size).toBeGreaterThan(8)
})

test('what took a part of the time took no 0 % of it', () => {
  expect([0.000_1, 0.004, 0.01, 0.126, 1].map(percent)).toEqual(['< 1 %', '< 1 %', '1 %', '13 %', '100 %'])
})
