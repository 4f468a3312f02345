import { startQueryServer, type QueryServerSettings } from '../api/query-server.ts'
import type { QueryConfig } from '../config/causeway-config.ts'
import { ThreadQueryService } from './thread-query-service.ts'

/** Starts the cpid_query extension: its API in this thread, its questions in one of their own. */
export async function startQueries(
  config: QueryConfig,
  path: string,
  hooks: Pick<QueryServerSettings, 'authenticator' | 'onTrouble' | 'onNotice' | 'onTurnedAway'>,
): Promise<AsyncDisposable> {
  await using open = new AsyncDisposableStack()
  const queries = open.use(await ThreadQueryService.start(path))
  open.use(await startQueryServer({ ...config, ...hooks, queries }))
  return open.move()
}
