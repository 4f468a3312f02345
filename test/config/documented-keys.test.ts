import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { parse, stringify } from 'yaml'
import { documentedKeys } from './documented-keys.ts'
import { loadText, mistakesIn, WITH_EXPORTER } from './load-text.ts'

const everyKey = readFileSync(new URL('./every-key.yaml', import.meta.url), 'utf8')
const keys = documentedKeys()

test('every documented key is taken', () => {
  expect(mistakesIn(everyKey)).toEqual([])
  const written = keysIn(parse(everyKey, { merge: true }))
  const documented = keys.filter(({ advice }) => advice === undefined).map(({ path }) => path.join('::'))
  expect(documented.filter((key) => !written.has(key))).toEqual([])
})

test('every written value arrives in the built configuration', () => {
  expect(loadText(everyKey).config).toMatchSnapshot()
})

const refused = keys.filter(({ advice }) => advice !== undefined)
test.each(refused.map(({ path, advice }) => [path.join('::'), advice]))(
  '%s is refused with advice',
  (key, advice) => {
    const path = key!.split('::')
    const yaml = stringify(
      path.reduceRight<unknown>((inner, step) => (step === '0' ? [inner] : { [step]: inner }), 1),
    )
    expect(mistakesIn([WITH_EXPORTER, yaml])).toContain(`${key}: ${advice}`)
  },
)

/** The keys of a configuration as the docs name them: a type in place of an id, any pipeline as traces. */
function keysIn(node: unknown, path: string[] = []): Set<string> {
  if (typeof node !== 'object' || node === null) return new Set([path.join('::')])
  const inner = Object.entries(node).flatMap(([key, child]) => {
    const isId = path.length === 1 && path[0] !== 'service'
    const isPipeline = path.join('::') === 'service::pipelines'
    const step = isPipeline ? 'traces' : isId ? key.replace(/\/.*/, '') : key
    return [...keysIn(child, [...path, step])]
  })
  return new Set([path.join('::'), ...inner])
}
