import { expect, test } from '@jest/globals'
import { execCredential } from '../../src/kube/cluster/cluster-access.ts'

/** A plugin that waits for a program which it has started, and which holds its outputs open. */
const startsAnother = (program: string) => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'sh',
  args: ['-c', `(${program}) & wait`],
  env: {},
  installHint: '',
})

test('a plugin that takes too long is ended, whatever it has started', async () => {
  const plugin = startsAnother('while echo; do sleep 0.1; done')
  const credential = execCredential(plugin, { timeoutMs: 200, nowMs: () => 0 })
  await expect(credential.present()).rejects.toThrow(
    'the credential plugin sh took longer than 0.2 s and was ended',
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
