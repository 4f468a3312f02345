import { startQueryServer } from '../api/query-server.ts'
import type { QueryConfig } from '../config/causeway-config.ts'
import { ThreadQueryService } from './thread-query-service.ts'

/** Starts the cpid_query extension: its API in this thread, its questions in one of their own. */
export async function startQueries(
  { traceUrl, ...listener }: QueryConfig,
  path: string,
  { version, onTrouble }: { version: string; onTrouble: (reason: string) => void },
): Promise<AsyncDisposable> {
  await using open = new AsyncDisposableStack()
  const queries = open.use(await ThreadQueryService.start(path))
  open.use(await startQueryServer({ ...listener, queries, about: { version, traceUrl }, onTrouble }))
  return open.move()
}
