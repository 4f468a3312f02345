import { createServer } from 'node:http'
import { isFromPage } from '../../platform/browser-origins.ts'
import {
  HTTP_SERVER_TIMEOUTS,
  listen,
  type ListenAddress,
  type ListenerOptions,
  type Listening,
} from '../../platform/http-listener.ts'
import type { ExtensionHost, HealthWatcher, RunningExtension, StartedWith } from '../extension-type.ts'
import type { HealthCheckSettings } from './health-check-extension.ts'
import { readInPieces } from '../../platform/pipelined-requests.ts'

/** Starts the health check; it answers 503 until Causeway is ready. */
export async function startExtension(
  { settings, listeners }: StartedWith<HealthCheckSettings>,
  { listenerOptionsOf: doorOf }: ExtensionHost,
): Promise<RunningExtension> {
  const [{ path } = { path: '' }] = listeners
  const watcher = await startHealthServer({ ...settings, ...doorOf(path) })
  return { watcher, [Symbol.asyncDispose]: () => watcher[Symbol.asyncDispose]() }
}

interface HealthServer extends Listening, HealthWatcher {}

interface HealthSettings extends ListenAddress, ListenerOptions {
  /** The path; if it ends with a slash, all paths below are answered too, as in the Collector. */
  path: string
}

/**
 * The `health_check` extension: answers 200 when ready and healthy, otherwise 503 with the faults. A warning does not change the status:
 * neither a restart nor removal from a Service's endpoints would help. If it cannot listen, rejects with an error that says what to change.
 */
export async function startHealthServer(settings: HealthSettings): Promise<HealthServer> {
  let isReady = false
  const faults = new Map<string, string>()
  const warnings = new Map<string, string>()
  const server = readInPieces(createServer(HTTP_SERVER_TIMEOUTS))
  server.on('request', (request, response) => {
    if (isFromPage(settings.host, request.headers)) {
      response.writeHead(403).end()
      return
    }
    if (!covers(settings.path, request.url ?? '/')) {
      response.writeHead(404).end()
      return
    }
    const isWell = isReady && faults.size === 0
    response.writeHead(isWell ? 200 : 503, { 'content-type': 'application/json' })
    const status = isWell ? 'Server available' : 'Server not available'
    const body = {
      status,
      ...(faults.size > 0 && { reasons: [...faults.values()] }),
      ...(warnings.size > 0 && { warnings: [...warnings.values()] }),
    }
    response.end(JSON.stringify(body))
  })
  const listening = await listen(server, settings, {
    ...settings,
    what: 'The health check',
    setting: 'extensions.health_check.endpoint',
  })
  return Object.assign(listening, {
    setReady(ready: boolean) {
      isReady = ready
    },
    setFault(part: string, reason: string | undefined) {
      if (reason === undefined) faults.delete(part)
      else faults.set(part, reason)
    },
    setWarning(part: string, warning: string | undefined) {
      if (warning === undefined) warnings.delete(part)
      else warnings.set(part, warning)
    },
  })
}

function covers(path: string, url: string): boolean {
  const asked = url.split('?', 1).join('')
  return asked === path || (path.endsWith('/') && asked.startsWith(path))
}
