import { expect, test } from '@jest/globals'
import { cascadesPath } from '../../web/src/cascades/cascade-filter.ts'

test('an address of the dashboard asks for a recent time, or for what it says word for word', () => {
  const asked = (address: string): string => cascadesPath(new URLSearchParams(address), 3_600_000, 10)
  expect(asked('from=1h')).toContain('from=1970-01-01T00%3A00%3A00.000Z')
  expect(asked('from=2026-01-31T08:00:00Z')).toContain('from=2026-01-31T08%3A00%3A00Z')
  expect(asked('from=constructor')).toContain('from=constructor')
})
