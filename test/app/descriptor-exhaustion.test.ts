import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'

const MODULE = new URL('../../src/platform/open-files.ts', import.meta.url).href

/** Runs a program in which an error with this code is thrown in a timer, where nobody handles it. */
async function throwing(code: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = `
    import { surviveDescriptorExhaustion } from ${JSON.stringify(MODULE)}
    surviveDescriptorExhaustion((reason) => console.log('told: ' + reason))
    setTimeout(() => { throw Object.assign(new Error('no file'), { code: ${JSON.stringify(code)} }) })
    setTimeout(() => console.log('alive'), 20)`
  const run = promisify(execFile)
  return run(process.execPath, ['--input-type=module', '--no-warnings', '--eval', program]).then(
    (said) => ({ code: 0, ...said }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  )
}

test.each(['EMFILE', 'ENFILE'])(
  'a timer that fails with %s is told of, and the process lives on',
  async (code) => {
    expect(await throwing(code)).toMatchObject({ code: 0, stdout: 'told: no file\nalive\n', stderr: '' })
  },
)

test('whatever else nobody handles ends the process, and says where it came from', async () => {
  const { code, stdout, stderr } = await throwing('EOTHER')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/Error: no file\n\s+at /)
})
