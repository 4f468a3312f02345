import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { validateHeaderValue } from 'node:http'
import { createSecureContext } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Authority } from '../../lab/harness/certificates.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { processesWith } from '../../lab/harness/processes/process-table.ts'
import { execCredential } from '../../src/kube/cluster/cluster-access.ts'

/** A plugin that waits for a program which it has started, and which holds its outputs open. */
const startsAnother = (program: string) => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'sh',
  args: ['-c', `(${program}) & wait`],
  env: {},
  installHint: '',
})

/** A program that ends by itself where a test leaves it behind. */
const waiting = (mark: string): string => `node -e 'setTimeout(Date, 60_000)' ${mark}`

test('a plugin that takes too long is ended, whatever it has started', async () => {
  const plugin = startsAnother('while echo; do sleep 0.1; done')
  const credential = execCredential(plugin, { timeoutMs: 200, nowMs: () => 0 })
  await expect(credential.present()).rejects.toThrow(
    'the credential plugin sh took longer than 0.2 s and was ended',
  )
})

test('nothing that a plugin has started outlives it', async () => {
  const mark = `plugin-${process.pid}-${Math.trunc(performance.now())}`
  const plugin = startsAnother(waiting(mark))
  await expect(execCredential(plugin, { timeoutMs: 500, nowMs: () => 0 }).present()).rejects.toThrow(
    'took longer',
  )
  await eventually(async () => expect(await processesWith(mark)).toEqual([]), 5_000)
})

test('a plugin is ended with a process that Ctrl-C ends', async () => {
  const mark = `plugin-${process.pid}-of-another`
  const plugin = startsAnother(waiting(mark))
  const access = fileURLToPath(new URL('../../src/kube/cluster/cluster-access.ts', import.meta.url))
  const code = `import { execCredential } from ${JSON.stringify(access)}; await execCredential(${JSON.stringify(plugin)}).present()`
  const asking = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
  await eventually(async () => expect((await processesWith(mark)).length).toBeGreaterThan(1), 20_000)
  asking.kill('SIGINT')
  expect(await once(asking, 'exit')).toEqual([null, 'SIGINT'])
  await eventually(async () => expect(await processesWith(mark)).toEqual([]), 5_000)
}, 30_000)

test('however many plugins run at once, the process is listened to once', async () => {
  const before = process.listenerCount('exit')
  const plugin = { ...startsAnother('sleep 1'), args: ['-c', 'exit 1'] }
  const runs = Array.from({ length: 12 }, () => execCredential(plugin).present())
  expect(process.listenerCount('exit')).toBeLessThanOrEqual(before + 1)
  for (const { status } of await Promise.allSettled(runs)) expect(status).toBe('rejected')
  expect(process.listenerCount('exit')).toBe(before)
})

const authority = new Authority('of a plugin')
const [one, two] = [authority.issue({ name: 'one' }), authority.issue({ name: 'two' })]

test('what a plugin prints and nobody can show is not kept: it is run again, until it prints something better', async () => {
  const part = (...whole: string[]) =>
    fc.oneof(fc.constantFrom(...whole, ''), fc.string({ unit: 'grapheme' }))
  const printed = fc.record(
    {
      token: fc.oneof(part('good'), fc.constantFrom('good\n', 'a\0b', 'good\r\nx: y')),
      clientCertificateData: part(one.cert, one.cert.slice(0, -80)),
      clientKeyData: part(one.key, two.key),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(printed, async (status) => {
      const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }
      const plugin = {
        ...{
          apiVersion: answer.apiVersion,
          command: 'sh',
          args: ['-c', 'printf %s "$0"', JSON.stringify(answer)],
        },
        ...{ env: {}, installHint: '' },
      }
      const credential = execCredential(plugin, { timeoutMs: 60_000, nowMs: () => 0 })
      const shown = await credential.present().catch(() => undefined)
      if (shown === undefined) return
      for (const value of Object.values(shown.headers).flat()) validateHeaderValue('authorization', value)
      createSecureContext(shown)
    }),
    { numRuns: 25 },
  )
})

test('a plugin that prints without end is ended, whatever it has started', async () => {
  // By what a shell has of itself: where there is little else on PATH, newlines alone take a core twenty seconds.
  const printing = 'x=0123456789abcdef; while [ ${#x} -lt 2000000 ]; do x=$x$x; done; echo $x'
  const credential = execCredential(startsAnother(`${printing}; while echo; do sleep 0.1; done`), {
    timeoutMs: 100_000,
    nowMs: () => 0,
  })
  await expect(credential.present()).rejects.toThrow(
    'the credential plugin sh printed more than 1048576 bytes',
  )
})
