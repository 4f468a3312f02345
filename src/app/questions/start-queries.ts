import { fileURLToPath } from 'node:url'
import { startQueryServer, type QueryServerSettings } from '../../api/query-server.ts'
import type { QueryConfig } from '../../config/causeway-config.ts'
import type { StorageFault } from '../../model/storage-fault.ts'
import { QueriesOnDemand } from './queries-on-demand.ts'

/** What `npm run build` makes. */
const DASHBOARD = fileURLToPath(new URL('../../../dist/web/', import.meta.url))

export interface QueryHooks extends Pick<
  QueryServerSettings,
  'authenticator' | 'connections' | 'onDrop' | 'unread' | 'onTrouble' | 'onNotice' | 'onTurnedAway'
> {
  version: string
  /** Told when what is asked for shows that the database is damaged. */
  onFault?: (fault: StorageFault) => void
}

/** Starts the cpid_query extension: its API and dashboard in this thread, its questions in one of their own while there are any. */
export async function startQueries(
  { traceUrl, ...listener }: QueryConfig,
  path: string,
  { version, onFault, ...hooks }: QueryHooks,
): Promise<AsyncDisposable> {
  await using open = new AsyncDisposableStack()
  const onEnded = hooks.onTrouble
  const queries = open.use(
    new QueriesOnDemand(path, { ...(onFault && { onFault }), ...(onEnded && { onEnded }) }),
  )
  const about = { version, traceUrl }
  open.use(await startQueryServer({ ...listener, ...hooks, queries, about, dashboard: DASHBOARD }))
  return open.move()
}
