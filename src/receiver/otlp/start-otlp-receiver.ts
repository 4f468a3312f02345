import type { ReceiverHost, RunningReceiver, StartedWith, ReceiverListener } from '../receiver-type.ts'
import { startGrpcReceiver } from './grpc-server.ts'
import { startHttpReceiver } from './otlp-http.ts'
import type { OtlpReceiverSettings } from './otlp-receiver.ts'

/** Listens for each of the protocols that are configured. */
export async function startReceiver(
  { id, settings: { grpc, http }, signals }: StartedWith<OtlpReceiverSettings>,
  { ingestPort: intake, observer, authenticatorOf, started, ...guards }: ReceiverHost,
): Promise<RunningReceiver> {
  await using open = new AsyncDisposableStack()
  const common = { ...guards, receiver: id, signals }
  const listeners: ReceiverListener[] = []
  if (grpc !== undefined) {
    const settings = {
      ...common,
      ...grpc,
      ...authenticatorOf(grpc),
      maxMessageBytes: grpc.maxRecvMsgSizeBytes,
    }
    const running = open.use(await startGrpcReceiver(settings, intake, observer))
    listeners.push(statusOf('grpc', running))
    started('Starting GRPC server', { endpoint: `${grpc.host}:${grpc.port}`, 'otelcol.component.id': id })
  }
  if (http !== undefined) {
    const settings = {
      ...common,
      ...http,
      ...authenticatorOf(http),
      maxMessageBytes: http.maxRequestBodyBytes,
    }
    const running = open.use(await startHttpReceiver(settings, intake, observer))
    listeners.push(statusOf('http', running))
    started('Starting HTTP server', { endpoint: `${http.host}:${http.port}`, 'otelcol.component.id': id })
  }
  const opened = open.move()
  return { listeners, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function statusOf(transport: string, running: { readonly connections: number }): ReceiverListener {
  return {
    transport,
    get connections() {
      return running.connections
    },
  }
}
