import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { METRICS } from '../../src/platform/metric-catalogue.ts'
import { LIMITS_DOCS, renderLimitsDocs } from '../../scripts/gen-limits-docs.ts'
import { anchorsOf } from '../examples/anchors-of.ts'

const DOCUMENT = new URL('../../docs/operations.md', import.meta.url)
const text = readFileSync(DOCUMENT, 'utf8')
const limits = renderLimitsDocs()
/** Metrics of other programs that the document speaks of. */
const FOREIGN = ['otelcol_exporter_enqueue_failed_spans']
/** What begins as a metric does and is none: the extension. */
const NO_METRIC = ['cpid_query']

test('docs/reference/limits.md is written by npm run gen', () => {
  expect(readFileSync(LIMITS_DOCS, 'utf8')).toBe(limits)
})

test('neither names a metric that does not exist', () => {
  const named = [...(text + limits).matchAll(/\b(?:cpid|otelcol)_\w+/g)].map(([name]) => name)
  const known = new Set([...Object.keys(METRICS), ...FOREIGN, ...NO_METRIC])
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

test('docs/reference/limits.md says of every limit of the connector what happens at it', () => {
  const keys = readFileSync(new URL('reference/configuration.md', DOCUMENT), 'utf8')
  const found = [...keys.matchAll(/^\| `(?:admission|linking|retention)\.(\w+)`/gm)].map(
    ([, key]) => key ?? '',
  )
  expect(found).toContain('max_in_flight')
  // How spans are joined is no limit.
  for (const key of found.filter((one) => one !== 'mode')) expect(limits).toMatch(new RegExp(`[\`:]${key}\``))
})

test('its links lead somewhere', () => {
  const links = [...text.matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)]
  expect(links.length).toBeGreaterThan(20)
  for (const [, path = '', anchor] of links) {
    const target = new URL(path === '' ? DOCUMENT : path, DOCUMENT)
    expect([path, existsSync(target)]).toEqual([path, true])
    if (anchor !== undefined) expect(anchorsOf(target)).toContain(anchor)
  }
})
