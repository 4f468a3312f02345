import { createServer } from 'node:http'
import { listen, type ListenAddress, type Listening } from './listen.ts'

export interface HealthServer extends Listening {
  /** Whether all listeners are bound and migrations are done; false until said otherwise. */
  setReady(ready: boolean): void
}

export interface HealthSettings extends ListenAddress {
  /** Where to ask; one that ends in a slash answers for everything below it, as in the Collector. */
  path: string
}

/**
 * The `health_check` extension: 200 while ready, 503 before and after. Rejects with an error that says what
 * to change when it cannot listen.
 */
export async function startHealthServer(settings: HealthSettings): Promise<HealthServer> {
  let isReady = false
  const server = createServer((request, response) => {
    if (!covers(settings.path, request.url ?? '/')) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: isReady ? 'Server available' : 'Server not available' }))
  })
  const listening = await listen(server, settings, {
    what: 'The health check',
    setting: 'extensions.health_check.endpoint',
  })
  return {
    ...listening,
    setReady(ready) {
      isReady = ready
    },
  }
}

function covers(path: string, url: string): boolean {
  const asked = url.split('?', 1).join('')
  return asked === path || (path.endsWith('/') && asked.startsWith(path))
}
