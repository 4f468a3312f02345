import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { ScrapedMetrics } from '../../lab/harness/causeway/scraped-metrics.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

leaveNothingBehind()

test('the connections to every port are counted, beside how many there may be', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  const { ports } = causeway.settings
  const sockets = [ports.grpc, ports.http, ports.query, ports.metrics, ports.health].map((port) =>
    connect(port, '127.0.0.1'),
  )
  using atEnd = new DisposableStack()
  atEnd.defer(() => {
    for (const socket of sockets) socket.destroy()
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))

  const listeners = [
    { receiver: 'otlp', transport: 'grpc' },
    { receiver: 'otlp', transport: 'http' },
    { receiver: 'cpid_query', transport: 'http' },
    { receiver: 'metrics', transport: 'http' },
    { receiver: 'health_check', transport: 'http' },
  ]
  await eventually(async () => {
    const metrics = await ScrapedMetrics.from(ports.metrics)
    for (const listener of listeners) {
      const connections = metrics.first('cpid_connections', listener)
      expect({ ...listener, isCounted: (connections ?? 0) >= 1 }).toEqual({ ...listener, isCounted: true })
      const limit = metrics.first('cpid_connections_limit', listener)
      expect(limit).toBeGreaterThanOrEqual(connections ?? Infinity)
    }
  })
})
