import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { Cli } from '../cli/cli.ts'

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

test('causeway validate takes a Causeway of the fleet that has a name, and warns of its open port alone', async () => {
  using cli = new Cli()
  const validate = [
    'validate',
    '--config',
    fileURLToPath(new URL('../../examples/fleet/causeway.yaml', import.meta.url)),
  ]
  cli.env = { CLUSTER: 'east', CLICKHOUSE_PASSWORD: 'secret' }
  expect(await cli.runBare(...validate)).toEqual({
    ...{ code: 0, stdout: '' },
    // Its README says to close it.
    stderr: expect.stringMatching(/^Warning: .* accepts spans and mergelogs from ANYBODY; .*\n$/) as unknown,
  })
  cli.env = { CLICKHOUSE_PASSWORD: 'secret' }
  const { code, stderr } = await cli.runBare(...validate)
  expect(code).not.toBe(0)
  expect(stderr).toContain('exporters::clickhouse::causeway: is required')
})
