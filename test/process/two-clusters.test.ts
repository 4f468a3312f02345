import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { answerStatus, TestApiServer } from '../cluster/support/test-api-server.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

leaveNothingBehind()

interface Outline {
  root: string
  cluster: string
  object: string
}

test('clusters in which all is the same are told apart, and one in trouble disturbs no other', async () => {
  await using one = await TestApiServer.start()
  await using other = await TestApiServer.start()
  await using troubled = await TestApiServer.start()
  await using stuck = await TestApiServer.start()
  troubled.instead.push((_, response) => {
    answerStatus(response, 401, 'Unauthorized')
    return true
  })
  // What it lists never comes.
  stuck.instead.push(({ url = '' }) => url.includes('/widgets'))

  const settings = await freshSettings()
  const servers = Object.entries({ one, other, troubled, stuck })
  const log = join(settings.home, 'audit.log')
  writeFileSync(log, '')
  const receivers = servers.map(([cluster, { url }]) => {
    const kubeconfig = join(settings.home, cluster)
    const [clusters, contexts] = [
      [{ name: 'c', cluster: { server: url } }],
      [{ name: 'x', context: { cluster: 'c', user: '' } }],
    ]
    writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'x', clusters, contexts }))
    return [`k8s_objects/${cluster}`, { cluster, auth_type: 'kubeConfig', kubeconfig }] as const
  })
  const audit = ['k8s_audit', { cluster: 'troubled', log: { path: log } }] as const
  const all: Record<string, object> = Object.fromEntries<object>([...receivers, audit])
  settings.patch = {
    receivers: all,
    service: {
      pipelines: { 'traces/in': { receivers: ['otlp', ...Object.keys(all)], exporters: ['cpid'] } },
    },
  }
  await using causeway = await startCauseway(settings)
  const cascades = async (): Promise<Outline[]> => {
    const answer = await fetch(`http://127.0.0.1:${settings.ports.query}/api/v1/cascades`)
    return ((await answer.json()) as { cascades: Outline[] }).cascades
  }
  await eventually(() => {
    for (const { requests } of [one, other, stuck])
      expect(requests.some((path) => /widgets.*watch=/.test(path))).toBe(true)
  })
  await eventually(() => expect(causeway.errors).toContain('troubled'))
  appendFileSync(log, 'no event\n{"stage":"ResponseComplete","verb":"create"}\n[]\n')
  for (const { history } of [one, other]) history.put({ name: 'same' })
  const found = await eventually(async () => {
    const seen = await cascades()
    expect(seen.map(({ cluster }) => cluster).sort()).toEqual(['one', 'other'])
    return seen
  })
  expect(new Set(found.map(({ object }) => object)).size).toBe(1)
  expect(new Set(found.map(({ root }) => root)).size).toBe(2)
  await eventually(() =>
    expect(causeway.errors).toMatch(
      /the cluster troubled at \S+ is retried: it does not know who asks .* has run out/,
    ),
  )
  await causeway.end('SIGTERM')
})
