import { mkdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Examination } from '../../../src/config/component-type.ts'
import { examineAudit } from '../../../src/receiver/k8s-audit/examine-audit.ts'
import { AuditLog, auditLine } from './support/audit-log.ts'

let log: AuditLog
beforeEach(() => {
  log = new AuditLog()
})
afterEach(() => log[Symbol.dispose]())

async function examined(): Promise<Examination[]> {
  const settings = { path: log.path, startAt: 'end' as const, maxLineBytes: 4_096, pollMs: 200 }
  const found: Examination[] = []
  for await (const one of examineAudit('k8s_audit', { cluster: 'prod', log: settings })) found.push(one)
  return found
}

const RULE = '`- { level: RequestResponse, verbs: [create, update, patch, delete] }`'

test('a policy that tells of writes with what they made is enough', async () => {
  log.append(auditLine('a', { objectRef: { resource: 'secrets' }, level: 'Metadata' }) + auditLine('b'))
  expect(await examined()).toEqual([
    { state: 'ok', message: `k8s_audit: ${log.path} records writes with their responses` },
  ])
})

test.each(['Metadata', 'Request'])('at %s the line to add to the policy is told', async (level) => {
  log.append(auditLine('a') + auditLine('b', { level }) + auditLine('half').slice(0, 50))
  expect(await examined()).toEqual([
    {
      state: 'warn',
      message: expect.stringContaining('1 of the newest 2 writes'),
      advice: `add to the audit policy, before the rule that matches pods: ${RULE}`,
    },
  ])
})

test('what was written long ago is not held against the policy', async () => {
  for (let at = 0; at < 100; at++) log.append(auditLine('a', { level: 'Metadata' }))
  const filler = 'x'.repeat(10_000)
  for (let at = 0; at < 120; at++) log.append(auditLine('b', { filler }))
  expect(await examined()).toMatchObject([{ state: 'ok' }])
})

test.each<[string, string, string]>([
  ['', 'is empty', '--audit-policy-file'],
  ['no audit event\n{}\n', 'no audit event is in', '--audit-log-format=json'],
  [auditLine('a', { verb: 'get' }), 'none of the newest 1 events', RULE],
  [auditLine('a', { stage: 'RequestReceived' }), 'does not record how writes ended', 'omitStages'],
])('a log with %j: %s', async (text, message, advice) => {
  log.append(text)
  expect(await examined()).toEqual([
    { state: 'warn', message: expect.stringContaining(message), advice: expect.stringContaining(advice) },
  ])
})

test('a file that is not there, or may not be read, is told of', async () => {
  expect(await examined()).toMatchObject([
    { state: 'fail', message: `k8s_audit: there is no file ${log.path}` },
  ])
  mkdirSync(log.path)
  expect(await examined()).toMatchObject([
    { state: 'fail', message: expect.stringContaining('it is no file but a pipe') },
  ])
})
