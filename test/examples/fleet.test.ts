import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'

const read = (name: string): string =>
  readFileSync(new URL(`../../examples/fleet/${name}`, import.meta.url), 'utf8')

test.each(['host', 'east', 'west'])('a Causeway of the fleet is called as its cluster, %s', (cluster) => {
  const env = { CLUSTER: cluster, CLICKHOUSE_PASSWORD: 'secret' }
  const { config } = loadConfig({ sources: ['causeway.yaml'], sets: [], env, readFile: read }, COMPONENTS)
  const archives = config.exporters.filter(({ id }) => id === 'clickhouse')
  expect(archives).toEqual([
    expect.objectContaining({ settings: expect.objectContaining({ causeway: cluster }) as object }),
  ])
  expect(read('collector.yaml')).toContain(`causeway-${cluster}.example:4317`)
})
