import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from 'node:net'
import { connect } from 'node:tls'
import { eventually } from '../../lab/harness/eventually.ts'
import { Authority } from '../../lab/harness/certificates.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startHttp } from './support/start-receivers.ts'

/** What a client of TLS 1.2 says first. */
async function clientHello(): Promise<Buffer> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const accepted = once(listener, 'connection') as Promise<[Socket]>
  const { port } = listener.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', maxVersion: 'TLSv1.2' }).on('error', () => undefined)
  const [socket] = await accepted
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  listener.close()
  return hello
}

/** Ends a handshake with a fatal alert (RFC 5246, sections 6.2.1 and 7.2). */
async function refuse(port: number, hello: Buffer, alert: number): Promise<void> {
  const socket = connectPlain(port, '127.0.0.1').on('error', () => undefined)
  socket.write(hello)
  await once(socket, 'data')
  socket.resume().end(Buffer.from([21, 3, 3, 0, 2, 2, alert]))
  await once(socket, 'close')
}

const { cert, key } = new Authority().issue()
const TLS = { certPem: cert, keyPem: key }

test('strangers cannot fill the log with ever different failures', async () => {
  const troubles: string[] = []
  await using receiver = await startHttp(new RecordingPort(), {
    tls: TLS,
    onTrouble: (reason) => troubles.push(reason),
  })
  const hello = await clientHello()
  const ALERTS = 120
  for (let alert = 0; alert < ALERTS; alert++) {
    await refuse(receiver.port, hello, alert)
  }
  await eventually(() => expect(new Set(troubles).size).toBeGreaterThan(10))
  expect(new Set(troubles).size).toBeLessThanOrEqual(21)
})

test.each([
  [42, 'bad certificate'],
  [45, 'certificate expired'],
  [46, 'certificate unknown'],
  [48, 'unknown ca'],
])('that a sender does not take the certificate of the listener is said (alert %d)', async (alert, words) => {
  const troubles: string[] = []
  await using receiver = await startHttp(new RecordingPort(), {
    tls: TLS,
    onTrouble: (reason) => troubles.push(reason),
  })
  await refuse(receiver.port, await clientHello(), alert)
  await eventually(() => {
    expect(troubles).toEqual([
      expect.stringMatching(
        new RegExp(`the client does not trust the certificate of this server \\(.*${words}`),
      ),
    ])
  })
})
