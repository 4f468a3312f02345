import { fileURLToPath } from 'node:url'
import { formatEndpoint } from '../../config/value-kinds.ts'
import { startQueryServer } from '../../query/http/query-server.ts'
import type { ExtensionHost, RunningExtension, StartedWith } from '../extension-type.ts'
import type { QuerySettings } from './query-extension.ts'

/** What is listened at, and no browser can be sent to. */
const EVERY_ADDRESS = ['0.0.0.0', '::']
/** What `npm run build` makes. */
const DASHBOARD = fileURLToPath(new URL('../../../dist/web/', import.meta.url))

/** Starts the API and the dashboard in this thread; questions are answered in one of their own while there are any. */
export async function startExtension(
  { settings: { traceUrl, ...listener }, listeners }: StartedWith<QuerySettings>,
  host: ExtensionHost,
): Promise<RunningExtension> {
  await using open = new AsyncDisposableStack()
  const [{ path } = { path: '' }] = listeners
  const queries = open.use(
    host.openQuestions({
      onFault: (fault) => host.onStorageFault('query', fault),
      onEnded: (reason) => host.onFailedQuestion(reason),
    }),
  )
  const { port } = open.use(
    await startQueryServer({
      ...listener,
      ...host.doorOf(path, listener.writeTimeoutMs),
      ...host.authenticatorOf(listener),
      queries,
      about: { version: host.version, traceUrl },
      dashboard: DASHBOARD,
      onTrouble: (reason) => host.onFailedQuestion(reason),
      onNotice: (reason) => host.onTrouble(reason),
      onTurnedAway: (reason) => host.onTurnedAway(reason),
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
