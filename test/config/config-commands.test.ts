import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { runCli } from '../../src/cli/commands.ts'
import { SMALLEST } from './load-text.ts'

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

async function run(
  command: string,
  { sources = [], sets = [] }: { sources?: string[]; sets?: string[] } = {},
) {
  const written = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (written[name] += text) })
  const options = [
    ...sources.flatMap((source) => ['--config', source]),
    ...sets.flatMap((set) => ['--set', set]),
  ]
  const code = await runCli([command, ...options], {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    readInput: () => Promise.resolve(''),
    terminalWidth: undefined,
    env: {},
    run: () => Promise.reject(new Error('Causeway is not run here')),
  })
  return { code, ...written }
}

test('validate says nothing of a configuration that is right', async () => {
  const sources = [pathOf('../../otel-config.yaml')]
  expect(await run('validate', { sources })).toEqual({ code: 0, stdout: '', stderr: '' })
})

test('validate names every mistake and its line, one line each', async () => {
  const path = pathOf('five-mistakes.yaml')
  const { code, stdout, stderr } = await run('validate', { sources: [path] })
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  const lines = [9, 10, 13, 13, 19]
  const messages = [...readFileSync(path, 'utf8').matchAll(/^# expect: (.*)$/gm)].map(
    ([, message]) => message,
  )
  expect(stderr).toBe(
    messages.map((message, at) => `Error: ${path}: line ${lines[at]}: ${message}\n`).join(''),
  )
})

test('a mistake with a line break in it is still one line', async () => {
  const { stderr } = await run('validate', { sources: [`yaml:${SMALLEST}`, 'yaml:"a\\n  b": 1'] })
  expect(stderr).toBe('Error: --config yaml: line 1: the top level has invalid keys: a b\n')
})

test('a mistake is where its value was written last', async () => {
  const file = pathOf('../../otel-config.yaml')
  const { stderr } = await run('validate', { sources: [file, 'yaml:connectors::cpid::linking::mode: x'] })
  expect(stderr).toMatch(/^Error: --config yaml:.*connectors::cpid::linking::mode: must be one of/)
  const set = await run('validate', { sources: [file], sets: ['connectors.cpid.linking.mode=x'] })
  expect(set.stderr).toMatch(/^Error: --set: connectors::cpid::linking::mode: must be one of/)
})

test('validate warns of a variable that is not set', async () => {
  const sources = [`yaml:${SMALLEST}`, 'yaml:connectors::cpid::max_sources: ${env:NONE}']
  expect(await run('validate', { sources })).toEqual({
    code: 0,
    stdout: '',
    stderr: 'Warning: connectors::cpid::max_sources: environment variable "NONE" is not set; left empty\n',
  })
})

test('print-config prints YAML, or mistakes', async () => {
  const { code, stdout } = await run('print-config', { sources: [`yaml:${SMALLEST}`] })
  expect(code).toBe(0)
  expect(parse(stdout)).toMatchObject({ connectors: { cpid: { storage: { path: './data/causeway.db' } } } })
  expect(await run('print-config')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'Error: at least one config flag must be provided; write --config otel-config.yaml, or causeway observe, which needs none\n',
  })
})

test('components lists what there is, and the signals of each', async () => {
  const { code, stdout } = await run('components')
  const { buildinfo, ...components } = parse(stdout) as Record<string, unknown>
  expect(code).toBe(0)
  expect(buildinfo).toMatchObject({ command: 'causeway', version: expect.any(String) })
  expect(components).toMatchSnapshot()
})
