import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { errorOf, mistakesOf } from './load-text.ts'

const FOLDER = new URL('./faulty/', import.meta.url)
/** Before each case: its name, and `whole` or the sections that it is to lack. */
const CASE = /^--- # ([\w-]+)(?:, (whole)|, without (.*))?\n/m
const EXPECT = /^# expect: (.*)$/gm

const PIPELINES = `  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    traces/out: { receivers: [cpid], exporters: [otlp_grpc] }
`
/** What a case has of each section that it does not write. */
const SECTIONS = {
  receivers:
    'receivers: { otlp: { protocols: { grpc: { endpoint: localhost:4317 }, http: { endpoint: localhost:4318 } } } }\n',
  connectors: 'connectors: { cpid: {} }\n',
  exporters: 'exporters: { otlp_grpc: { endpoint: localhost:14317, tls: { insecure: true } } }\n',
  service: `service:\n${PIPELINES}`,
}

const cases = new Map(
  readdirSync(FOLDER).flatMap((file) => casesIn(readFileSync(new URL(file, FOLDER), 'utf8'))),
)

function casesIn(list: string): [name: string, text: string][] {
  const [, ...parts] = list.split(CASE)
  return Array.from({ length: parts.length / 4 }, (_, at) => {
    const [name = '', whole, without, text = ''] = parts.slice(4 * at, 4 * at + 4)
    return [`${name}.yaml`, whole === undefined ? completed(text, without?.split(' and ') ?? []) : text]
  })
}

/** The sections that a case does not write come before it, and the pipelines first in its service. */
function completed(text: string, without: readonly string[]): string {
  const missing = Object.entries(SECTIONS).filter(
    ([section]) => !without.includes(section) && !new RegExp(`^${section}:`, 'm').test(text),
  )
  const written = text.replace(/^service:\n((?: .*\n)+)/m, (service, inner: string) =>
    /^ {2}pipelines:/m.test(inner) ? service : `service:\n${PIPELINES}${inner}`,
  )
  return missing.map(([, section]) => section).join('') + written
}

const readFile = (path: string) => cases.get(path) ?? readFileSync(new URL(path, FOLDER), 'utf8')

const load = (name: string) => () => loadConfig({ sources: [name], sets: [], env: {}, readFile }, COMPONENTS)

test.each([...cases])('%s', (name, text) => {
  const expected = [...text.matchAll(EXPECT)].map(([, line]) => line)
  expect(expected).not.toEqual([])
  expect(mistakesOf(load(name))).toEqual(expected)
})

// Broken YAML says its line itself.
test.each([...cases].filter(([name]) => !name.startsWith('yaml-')))(
  'every mistake of %s says on which line its key, or the nearest around it, is',
  (name, text) => {
    const tree: unknown = parse(text)
    for (const { path, key, place } of errorOf(load(name))) {
      const keys = [...path.split('::'), ...(key === undefined ? [] : [key])].filter((one) => one !== '')
      const written = keys.findLast((_, at) => has(tree, keys.slice(0, at + 1)))
      const [, line] = new RegExp(`^${name}: line (\\d+)$`).exec(place ?? '') ?? []
      if (written === undefined) expect(place).toBeUndefined()
      else expect(text.split('\n')[Number(line) - 1]).toContain(/^\d+$/.test(written) ? '{' : written)
    }
  },
)

function has(tree: unknown, [key, ...inner]: readonly string[]): boolean {
  if (key === undefined) return true
  if (typeof tree !== 'object' || tree === null || !Object.hasOwn(tree, key)) return false
  return has(Object.entries(tree).find(([name]) => name === key)?.[1], inner)
}
