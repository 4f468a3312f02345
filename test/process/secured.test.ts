import { ChannelCredentials } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { hashSync } from 'bcryptjs'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { Authority, type Certificate } from '../../lab/harness/certificates.ts'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings, type CausewaySettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { askStored } from '../../lab/harness/causeway/stored-data.ts'

leaveNothingBehind()

const authority = new Authority()
const basic = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` })

/** Settings whose file names certificates, users and a policy besides. */
async function secured(exporters: Record<string, unknown> = {}) {
  const settings = await freshSettings({ exporters })
  const write = (name: string, text: string): string => {
    writeFileSync(join(settings.home, name), text)
    return join(settings.home, name)
  }
  const files = (name: string, { cert, key }: Certificate) => ({
    cert_file: write(`${name}.crt`, cert),
    key_file: write(`${name}.key`, key),
  })
  const ca = write('ca.crt', authority.cert)
  const users = write('users', `alice:${hashSync('hush-alice', 4)}\nbob:hush-bob\n`)
  return { settings, files, ca, users }
}

const countOf = (settings: CausewaySettings, table: string): number =>
  askStored(settings, (db) => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0)

test('one Causeway sends to another over mutual TLS with a password; strangers, and what a sender may not send, stay out', async () => {
  const inner = await secured()
  const outer = await secured({
    otlp_grpc: {
      endpoint: `localhost:${inner.settings.ports.grpc}`,
      tls: {
        ca_file: inner.ca,
        ...inner.files('client', authority.issue({ name: 'outer' })),
        insecure: false,
      },
      auth: { authenticator: 'basicauth' },
      retry_on_failure: { initial_interval: '50ms', max_interval: '200ms' },
    },
  })
  const innerPatch = {
    receivers: {
      otlp: {
        protocols: {
          grpc: {
            tls: { ...inner.files('server', authority.issue()), client_ca_file: inner.ca },
            auth: { authenticator: 'basicauth' },
          },
        },
      },
    },
    connectors: {
      cpid: {
        senders: {
          rules: [
            { match: { username: 'alice', certificate: 'cn:outer' } },
            { match: { username: 'bob' }, mergelogs: false, services: ['kubelet'] },
          ],
        },
      },
    },
    extensions: { basicauth: { htpasswd: { file: inner.users } } },
  }
  const outerPatch = {
    connectors: { cpid: { linking: { wait: '0s' } } },
    extensions: { basicauth: { client_auth: { username: 'alice', password: 'hush-alice' } } },
  }
  await using receiving = await startCauseway({ ...inner.settings, patch: innerPatch })
  await using sending = await startCauseway({ ...outer.settings, patch: outerPatch })

  using client = new GrpcSender(outer.settings.ports.grpc)
  const span = spansRequest('controller', [{ trace: 1, id: 1 }])
  expect(await client.export('traces', span)).toMatchObject({ code: 0 })
  await eventually(() => expect(countOf(inner.settings, 'spans')).toBe(1))

  const [ca, key, cert] = pemOf(authority.issue({ name: 'elsewhere' }))
  using bob = new GrpcSender(inner.settings.ports.grpc, {}, ChannelCredentials.createSsl(ca, key, cert))
  const kubelet = spansRequest('kubelet', [{ trace: 2, id: 2 }])
  expect(await bob.export('traces', kubelet, basic('mallory:hush-bob'))).toMatchObject({ code: 16 })
  expect(await bob.export('traces', kubelet)).toMatchObject({ code: 16 })
  expect((await bob.export('traces', kubelet, basic('bob:hush-bob'))).response).toHaveLength(0)
  const forged = mergelogsRequest('kubelet', [{ new: cpid(2), sources: [cpid(1)] }])
  const refused = await bob.export('logs', forged, basic('bob:hush-bob'))
  expect(refused.response?.toString()).toContain('may not send mergelogs')
  expect(countOf(inner.settings, 'mergelogs')).toBe(0)
  const rows = askStored(inner.settings, (db) =>
    db.prepare('SELECT reason, service, sender FROM audit_rejected_mergelogs').all(),
  )
  expect(rows).toEqual([{ reason: 'sender_not_allowed', service: 'kubelet', sender: 'bob' }])

  const metrics = await (await fetch(`http://127.0.0.1:${inner.settings.ports.metrics}/metrics`)).text()
  expect(metrics).toMatch(/^cpid_unauthenticated_requests\{.*receiver="otlp".*\} 2$/m)
  expect(metrics).toMatch(/^cpid_mergelogs_refused\{.*reason="sender_not_allowed".*\} 1$/m)
  await eventually(() => expect(receiving.errors).toContain('turned a request away'))
  for (const { errors } of [receiving, sending]) expect(errors).not.toMatch(/hush|PRIVATE KEY/)
})

const pemOf = ({ key, cert }: Certificate) => [authority.cert, key, cert].map((pem) => Buffer.from(pem))
