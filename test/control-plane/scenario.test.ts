import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, expect } from '@jest/globals'
import { OtlpSink } from '../../lab/harness/sinks/otlp-sink.ts'

const FOLDER = new URL('../../packages/control-plane/', import.meta.url)
const SCENARIO = fileURLToPath(new URL('scenario.ts', FOLDER))

async function run(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [SCENARIO, ...args])).stdout
}

test('the scenario of the README is the one that is tried here', () => {
  const readme = readFileSync(new URL('README.md', FOLDER), 'utf8')
  expect(readme).toContain(`\`\`\`ts\n${readFileSync(SCENARIO, 'utf8')}\`\`\``)
})

test('the scenario plays, the same each time, and sends what it recorded', async () => {
  await using sink = await OtlpSink.open()
  const said = await run(sink.endpoint)
  expect(said).toMatch(/^scaled in change [0-9a-f-]{36}\n5 Pods\n\d+ spans, \d+ log records\n$/)
  const counts = `${sink.spans.length} spans, ${sink.records.length} log records`
  expect(said.split('\n')[2]).toBe(counts)
  expect(await run()).toBe(said)
})
