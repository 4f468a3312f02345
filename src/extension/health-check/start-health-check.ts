import type { ExtensionHost, RunningExtension, StartedWith } from '../extension-type.ts'
import type { HealthCheckSettings } from './health-check-extension.ts'
import { startHealthServer } from './health-server.ts'

/** Starts the health check, which tells that Causeway is not ready until it is. */
export async function startExtension(
  { settings, listeners }: StartedWith<HealthCheckSettings>,
  { doorOf }: ExtensionHost,
): Promise<RunningExtension> {
  const [{ path } = { path: '' }] = listeners
  const watcher = await startHealthServer({ ...settings, ...doorOf(path) })
  return { watcher, [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose]() }
}
