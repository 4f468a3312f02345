import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { MERGELOG_REFUSALS } from '../../src/model/merge-graph.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test.each(['docs/reference/audit-views.md', 'docs/operations.md'])(
  '%s explains every reason why a mergelog is refused',
  (path) => {
    const text = read(path)
    expect(MERGELOG_REFUSALS.filter((reason) => !text.includes(`\`${reason}\``))).toEqual([])
  },
)

test('an alert fires for every reason why a mergelog is refused', () => {
  const alerts = read('examples/prometheus/causeway-alerts.yaml')
  const watched = [...alerts.matchAll(/increase\(cpid_mergelogs_refused\{reason=~"([^"]+)"/g)].flatMap(
    ([, reasons = '']) => reasons.split('|'),
  )
  expect(watched.sort()).toEqual([...MERGELOG_REFUSALS].sort())
})
