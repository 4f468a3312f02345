import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { markerSpan } from './support/marker-span.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'

const MIB = 2 ** 20
const BODY = 60 * MIB
/** What is left of a body to come, and a piece of it: more than a body must deliver to be no slow one. */
const [LEFT, PIECE] = [MIB, 2048]
const EVERY_MS = 1_000
const OK = 0
const UNAVAILABLE = 14

leaveNothingBehind()

/** A request that has sent most of a large body, and sends the rest little by little. */
async function unended(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
    .on('error', () => undefined)
    .resume()
  await once(socket, 'connect')
  const head = ['POST /v1/traces HTTP/1.1', 'Host: x', 'Content-Type: application/x-protobuf']
  socket.write(`${head.join('\r\n')}\r\nContent-Length: ${BODY + LEFT}\r\n\r\n`)
  const written = Promise.withResolvers<undefined>()
  socket.write(Buffer.alloc(BODY, 1), () => written.resolve(undefined))
  await written.promise
  const timer = setInterval(() => socket.write(Buffer.alloc(PIECE, 1)), EVERY_MS)
  socket.once('close', () => clearInterval(timer))
  return socket
}

test('above its soft memory limit Causeway asks senders to come again, and takes what they send once it holds nothing of others', async () => {
  const settings = await freshSettings({ connector: { admission: { max_in_flight: '1GiB' } } })
  settings.patch = {
    // However long this takes, the bodies may take longer.
    receivers: { otlp: { protocols: { http: { read_timeout: '0s' } } } },
    extensions: { memory_limiter: { limit_mib: 1000, spike_limit_mib: 750, check_interval: '100ms' } },
  }
  await using causeway = await startCauseway(settings)
  const { grpc, http } = settings.ports
  using sender = new GrpcSender(grpc)
  expect(await sender.export('traces', markerSpan('before').bytes)).toMatchObject({ code: OK })

  const holding = await Promise.all(Array.from({ length: 4 }, () => unended(http)))
  await eventually(async () => expect(await ownMetric(settings, 'cpid_memory_refusing')).toBe(1))
  const refused = await sender.export('traces', markerSpan('refused').bytes)
  expect(refused).toMatchObject({ code: UNAVAILABLE, message: expect.stringContaining('high memory usage') })
  expect(refused.details?.toString('latin1')).toContain('google.rpc.RetryInfo')
  const answer = await post(http, '/v1/traces', PROTOBUF, markerSpan('refused').bytes)
  expect(answer.status).toBe(503)
  expect(answer.headers.get('retry-after')).toMatch(/^[12]$/)
  await eventually(() => expect(causeway.errors).toContain('Refusing data.'))

  for (const socket of holding) socket.destroy()
  await eventually(async () => {
    expect(await sender.export('traces', markerSpan('again').bytes)).toMatchObject({ code: OK })
    expect((await post(http, '/v1/traces', PROTOBUF, markerSpan('again').bytes)).status).toBe(200)
  })
  await eventually(() => expect(causeway.errors).toContain('Resuming normal operation.'))
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
