import { fileURLToPath } from 'node:url'
import { formatEndpoint } from '../../config/value-kinds.ts'
import type { OpenGrpcHandler } from '../../query/http/grpc-connections.ts'
import { startQueryServer } from '../../query/http/query-server.ts'
import type { ExtensionHost, RunningExtension, StartedWith } from '../extension-type.ts'
import type { QuerySettings } from './query-extension.ts'

/** Wildcard addresses, which a browser cannot open; localhost replaces them. */
const EVERY_ADDRESS = ['0.0.0.0', '::']
/** Built by `npm run build`. */
const DASHBOARD = fileURLToPath(new URL('../../../dist/web/', import.meta.url))

const openGrpcHandler: OpenGrpcHandler = async (settings) =>
  (await import('../../query/grpc/grpc-handler.ts')).openGrpcHandler(settings)

/** Starts the API and the dashboard in this thread; query threads answer questions. */
export async function startExtension(
  { settings: { traceUrl, grpc, archive, ...listener }, listeners }: StartedWith<QuerySettings>,
  host: ExtensionHost,
): Promise<RunningExtension> {
  await using open = new AsyncDisposableStack()
  const [{ path } = { path: '' }, { path: grpcPath } = { path: '' }] = listeners
  const queries = open.use(
    host.openQuestions({
      ...(archive !== undefined && { archive }),
      onFault: (fault) => host.onStorageFault('query', fault),
      onEnded: (reason) => host.onFailedQuestion(reason),
    }),
  )
  const settings = {
    ...listener,
    ...host.authenticatorOf(listener),
    queries,
    about: { version: host.version, traceUrl, archive: archive !== undefined },
    dashboard: DASHBOARD,
    openGrpcHandler,
    onTrouble: (reason: string) => host.onFailedQuestion(reason),
    onNotice: (reason: string) => host.onTrouble(reason),
    onTurnedAway: (reason: string) => host.onUnauthenticated(reason),
  }
  const { port } = open.use(
    await startQueryServer({ ...settings, ...host.listenerOptionsOf(path, listener.writeTimeoutMs) }),
  )
  if (grpc !== undefined)
    open.use(
      await startQueryServer({
        ...{ ...settings, ...grpc, ...host.listenerOptionsOf(grpcPath, listener.writeTimeoutMs) },
        isGrpcAlone: true,
      }),
    )
  const where = formatEndpoint({
    host: EVERY_ADDRESS.includes(listener.host) ? 'localhost' : listener.host,
    port,
  })
  const scheme = listener.tls === undefined ? 'http' : 'https'
  host.log.info(`The dashboard and the API are at ${scheme}://${where}/`)
  return open.move()
}
