import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { CONFIG_DOCS, renderConfigDocs } from '../../scripts/gen-config-docs.ts'
import { loadText } from './load-text.ts'

const text = renderConfigDocs()

test('docs/reference/configuration.md says what the schema says; npm run gen writes it', () => {
  expect(readFileSync(CONFIG_DOCS, 'utf8')).toBe(text)
})

test('a block that several components have is described once', () => {
  for (const key of ['cert_file', 'client_ca_file', 'allowed_origins', 'initial_interval', 'num_consumers'])
    expect([key, text.match(new RegExp(`^\\| \`(?:\\w+\\.)*${key}\``, 'gm'))?.length]).toEqual([
      key,
      // An archive is tried again for ever.
      key === 'cert_file' || key === 'initial_interval' ? 2 : 1,
    ])
})

test('the configuration that docs/config.md shows is right', () => {
  const page = readFileSync(new URL('../../docs/config.md', import.meta.url), 'utf8')
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  expect(loadText(example).warnings).toEqual([])
})
