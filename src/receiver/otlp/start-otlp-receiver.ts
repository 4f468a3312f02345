import type { Endpoint } from '../../config/value-kinds.ts'
import type { RunningListener } from '../listener.ts'
import type { ReceiverHost, RunningReceiver, StartedWith, ReceiverListener } from '../receiver-type.ts'
import { startGrpcReceiver } from './grpc-server.ts'
import { startHttpReceiver } from './otlp-http.ts'
import type { OtlpReceiverSettings } from './otlp-receiver.ts'

/** Listens for each of the protocols that are configured. */
export async function startReceiver(
  { id, settings: { grpc, http }, signals }: StartedWith<OtlpReceiverSettings>,
  { ingestPort, observer, authenticatorOf, started, ...guards }: ReceiverHost,
): Promise<RunningReceiver> {
  await using open = new AsyncDisposableStack()
  const common = { ...guards, receiver: id, signals }
  const listeners: ReceiverListener[] = []
  const listens = (transport: 'grpc' | 'http', running: RunningListener, { host, port }: Endpoint): void => {
    listeners.push(statusOf(transport, open.use(running)))
    const endpoint = `${host}:${port}`
    started(`Starting ${transport.toUpperCase()} server`, { endpoint, 'otelcol.component.id': id })
  }
  if (grpc !== undefined) {
    const limits = { maxMessageBytes: grpc.maxRecvMsgSizeBytes }
    const settings = { ...common, ...grpc, ...authenticatorOf(grpc), ...limits }
    listens('grpc', await startGrpcReceiver(settings, ingestPort, observer), grpc)
  }
  if (http !== undefined) {
    const limits = { maxMessageBytes: http.maxRequestBodyBytes }
    const settings = { ...common, ...http, ...authenticatorOf(http), ...limits }
    listens('http', await startHttpReceiver(settings, ingestPort, observer), http)
  }
  const opened = open.move()
  return { listeners, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function statusOf(transport: string, running: RunningListener): ReceiverListener {
  return {
    transport,
    get connections() {
      return running.connections
    },
  }
}
