import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

interface Schema {
  properties?: Record<string, Schema>
  additionalProperties?: boolean
}

test('the chart is of the version of the package', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  expect(parse(read('deploy/helm/causeway/Chart.yaml'))).toMatchObject({ version, appVersion: version })
})

test('the schema knows the values that there are, and no others', () => {
  const same = (schema: Schema, values: Record<string, unknown>, path: string): void => {
    // Helm gives `global` to every chart.
    const properties = Object.entries(schema.properties ?? {}).filter(([key]) => key !== 'global')
    expect([path, properties.map(([key]) => key).sort()]).toEqual([path, Object.keys(values).sort()])
    for (const [key, inner] of properties)
      if (inner.additionalProperties === false)
        same(inner, values[key] as Record<string, unknown>, `${path}.${key}`)
  }
  const values = parse(read('deploy/helm/causeway/values.yaml')) as Record<string, unknown>
  same(JSON.parse(read('deploy/helm/causeway/values.schema.json')) as Schema, values, 'values')
})
