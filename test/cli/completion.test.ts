import { expect, test } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { Cli } from './cli.ts'

/** What a real bash offers where Tab is pressed at the end of the line. */
async function offered(line: string): Promise<string[]> {
  using cli = new Cli()
  const { stdout } = await cli.runBare('completion', 'bash')
  const words = line.split(' ')
  const asked = `${stdout}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_causeway; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['--norc', '-c', asked], { encoding: 'utf8' }).trim().split('\n').sort()
}

test('commands are completed, with the options that each takes and the values of these', async () => {
  expect(await offered('causeway casc')).toEqual(['cascade', 'cascades'])
  expect(await offered('causeway --ver')).toEqual(['--version'])
  expect(await offered('causeway cascades --st')).toEqual(['--state'])
  expect(await offered('causeway cascades --state ')).toEqual(['open', 'settled'])
  expect(await offered('causeway doctor --st')).toEqual([''])
  expect(await offered('causeway --config otel-con')).toEqual(['otel-config.yaml'])
  expect(await offered('causeway kubectl -- ge')).toEqual([''])
})

test('zsh takes the same script, which turns on what zsh needs for it', async () => {
  using cli = new Cli()
  const [bash, zsh] = [await cli.runBare('completion', 'bash'), await cli.runBare('completion', 'zsh')]
  expect(zsh).toEqual({ ...bash, code: 0, stdout: expect.stringContaining('bashcompinit') })
  expect(zsh.stdout).toBe(bash.stdout)
})

test('another shell is refused', async () => {
  using cli = new Cli()
  expect(await cli.runBare('completion', 'tcsh')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('completion bash'),
  })
})
