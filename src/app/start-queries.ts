import type { Listener } from '../config/causeway-config.ts'

/** Starts the cpid_query extension: its API in this thread, its questions in one of their own. */
export function startQueries(_listener: Listener, _path: string): Promise<AsyncDisposable> {
  return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() })
}
