import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { AuditLog, auditLine, Followed } from '../receiver/k8s-audit/support/audit-log.ts'

test('a pipe as audit log is refused, waited for by no thread, and may become a file', async () => {
  using log = new AuditLog()
  const followed = new Followed(log.path)
  execFileSync('mkfifo', [log.path])
  await expect(followed.look()).rejects.toThrow('it is no file but a pipe')
  rmSync(log.path)
  log.append(auditLine('first'))
  await followed.readAll()
  expect(followed.ids).toEqual(['first'])
  await followed.restart()
})
