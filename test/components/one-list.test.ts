import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { COMPONENTS } from '../../src/app/components.ts'

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(`${SRC}${name}`, 'utf8') }))

/** Also the name of something else: a level of the log, and what the whole is about. */
const WORDS = ['debug', 'cpid']

const sections = ['receivers', 'exporters', 'extensions'] as const
const types = sections.flatMap((section) => COMPONENTS[section].map(({ name }) => ({ section, name })))

test('there are types to look for', () => {
  expect(types.map(({ name }) => name)).toEqual(expect.arrayContaining(['otlp', 'otlp_grpc', 'cpid_query']))
})

test.each(types.filter(({ name }) => !WORDS.includes(name)))(
  'nothing but its own folder knows $name of the $section by name',
  ({ section, name }) => {
    const knowing = files.filter(({ text }) => new RegExp(`['"]${name}['"]`).test(text))
    const folder = section.replace(/s$/, '/')
    expect(knowing.filter((file) => !/^(?:receiver|exporter|extension)\//.test(file.name))).toEqual([])
    expect(knowing.some((file) => file.name.startsWith(folder))).toBe(true)
  },
)

test('what a declaration needs to run is not loaded with it', () => {
  const declarations = files.filter(({ name }) =>
    /^(?:receiver|exporter|extension)\/.*-(?:receiver|exporter|extension)\.ts$/.test(name),
  )
  const declaring = declarations.filter(({ text }) => text.includes('...componentType('))
  expect(declaring).toHaveLength(types.length)
  for (const { text } of declaring) {
    const imported = [...text.matchAll(/^import (?!type ).* from '([^']+)'|^\} from '([^']+)'/gm)]
    for (const [, one, other] of imported)
      expect(one ?? other).toMatch(
        /\/config\/|\/model\/|\/platform\/tls|cluster-settings|otlp-exporter-settings/,
      )
  }
})
