import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, expect } from '@jest/globals'
import { parseCpidFromLine } from '../../packages/instrumentation/src/telemetry/parse-cpid-from-line.ts'
import { OtlpSink } from '../../lab/harness/sinks/otlp-sink.ts'

/** Runs a step of the sample as its reader would; returns what it printed. */
async function run(step: string, sink: OtlpSink): Promise<string[]> {
  const path = fileURLToPath(new URL(`../../examples/instrumented-controller/${step}.ts`, import.meta.url))
  const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: sink.endpoint }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--no-warnings', path], { env })
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

const changesOf = (sink: OtlpSink) =>
  sink.records
    .filter(({ name }) => name === 'cpid.mergelog')
    .map(({ attributes }) => ({ cpid: attributes['cpid.new'], sources: attributes['cpid.sources'] }))

test('step 1 says nothing to anyone', async () => {
  await using sink = await OtlpSink.open()
  expect(await run('step-1-plain', sink)).toHaveLength(3)
  expect([...sink.spans, ...sink.records]).toEqual([])
})

test('step 2 tells of three changes and of the reconciles that two of them caused', async () => {
  await using sink = await OtlpSink.open()
  await run('step-2-spans', sink)
  const [deployment, first, second, ...others] = changesOf(sink)
  expect(others).toEqual([])
  expect([deployment?.sources, first?.sources, second?.sources]).toEqual(['', '', ''])
  expect(sink.spans.map(({ attributes }) => attributes['cpid.id'])).toEqual([
    first?.cpid,
    second?.cpid,
    second?.cpid,
  ])
})

test('step 3 merges where changes meet, and not where one has come of the other', async () => {
  await using sink = await OtlpSink.open()
  await run('step-3-changes', sink)
  const [deployment, settings, merged, edit, again, ...others] = changesOf(sink)
  expect(others).toEqual([])
  expect(merged?.sources).toBe(`${settings?.cpid},${deployment?.cpid}`)
  expect(again?.sources).toBe(`${edit?.cpid},${merged?.cpid}`)
  const updates = sink.spans.filter(({ name }) => name === 'update Deployment')
  expect(updates.map(({ attributes }) => attributes['cpid.id'])).toEqual([
    merged?.cpid,
    again?.cpid,
    again?.cpid,
  ])
  expect(updates[0]?.attributes['cpid.wrote']).toMatch(/^apps\/v1\/deployments\/default\/web\?uid=.+&rv=3$/)
  const reconciles = sink.spans.filter(({ name }) => name === 'reconcile Deployment')
  expect(reconciles[0]?.attributes['cpid.observed']).toMatch(/^v1\/configmaps\/.+,apps\/v1\/deployments\//)
})

test('step 4 says in every line which change it belongs to', async () => {
  await using sink = await OtlpSink.open()
  const lines = await run('step-4-logs', sink)
  const [, settings, merged, edit, again] = changesOf(sink).map(({ cpid }) => cpid)
  expect(lines.map(parseCpidFromLine)).toEqual([settings, merged, edit, again, edit, again])
  const told = sink.records.filter(({ name }) => name.startsWith('updated'))
  expect(told.map(({ attributes }) => attributes['cpid.id'])).toEqual([merged, again, again])
})
