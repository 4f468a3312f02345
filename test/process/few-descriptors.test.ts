import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings, type CausewayPorts } from '../../lab/harness/causeway/causeway-settings.ts'
import { markerSpan } from './support/marker-span.ts'
import { isHealthy } from '../../lab/harness/causeway/health-answer.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'

const FLOOD = 300
/** What Causeway opens by itself leaves hardly any. */
const OPEN_FILES = 64
const LISTENERS: readonly (keyof CausewayPorts)[] = ['metrics', 'query', 'health', 'http', 'grpc']

leaveNothingBehind()

/** Resolves once each connection is there, or was closed, as some are that Causeway has no room for. */
async function flood(port: number): Promise<Socket[]> {
  const sockets = Array.from({ length: FLOOD }, () => connect(port, '127.0.0.1').resume())
  const tried = sockets.map((socket) =>
    Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => undefined),
  )
  for (const socket of sockets) socket.on('error', () => undefined)
  await Promise.all(tried)
  await eventually(() => expect(sockets.some(({ closed }) => closed)).toBe(true))
  return sockets
}

test('a process that may have few files open outlives connections without an end to every port', async () => {
  const settings = await freshSettings()
  settings.patch = { extensions: { memory_limiter: { check_interval: '10ms' } } }
  const limited = ['sh', '-c', `ulimit -n ${OPEN_FILES}; exec "$@"`, 'limited']
  await using causeway = new CausewayProcess(settings, undefined, limited)
  await causeway.ready()
  expect(causeway.errors).toContain(`this process may have ${OPEN_FILES} files open, too few`)
  const held: Socket[] = []
  for (const listener of LISTENERS) held.push(...(await flood(settings.ports[listener])))
  for (const socket of held) socket.destroy()

  // What was closed has to be seen by Causeway before there is room again.
  await eventually(async () => expect(await isHealthy(settings)).toBe(true))
  await eventually(async () => {
    const answer = await post(settings.ports.http, '/v1/traces', PROTOBUF, markerSpan('after').bytes)
    expect(answer.status).toBe(200)
  })
  expect(await ownMetric(settings, 'cpid_dropped_connections')).toBeGreaterThan(0)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(causeway.complaints).toEqual([])
})

/** Has a timer fail for want of a descriptor whenever the process gets SIGUSR2. */
const FAILING = `data:text/javascript,process.on('SIGUSR2', () => setTimeout(() => {
  throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
}))`.replaceAll(/\s+/g, '%20')

test('a timer that fails for want of a descriptor is told of once, and nothing else comes of it', async () => {
  const settings = await freshSettings()
  await using causeway = new CausewayProcess(settings, undefined, ['env', `NODE_OPTIONS=--import=${FAILING}`])
  await causeway.ready()
  for (let times = 0; times < 2; times++) {
    process.kill(causeway.pid, 'SIGUSR2')
    await eventually(() => {
      expect(causeway.errors).toContain('No file descriptor was left. The operation is retried.')
    })
    expect((await fetch(`http://127.0.0.1:${settings.ports.health}/`)).status).toBe(200)
  }
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(causeway.errors.match(/No file descriptor was left/g)).toHaveLength(1)
})
