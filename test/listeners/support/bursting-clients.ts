import { Agent, request } from 'node:http'

/** Asks once; resolves to the status of the answer, or to how the connection failed. */
interface BurstingClient extends Disposable {
  ask(port: number): Promise<number | string>
}

/** The client behind `fetch`, which is undici. */
export function fetchingClient(): BurstingClient {
  return {
    async ask(port) {
      try {
        const response = await fetch(`http://127.0.0.1:${port}/`)
        await response.text()
        return response.status
      } catch (error) {
        return String((error as Error).cause ?? error)
      }
    },
    [Symbol.dispose]: () => undefined,
  }
}

/** Node's own client with connections that are kept. */
export function keepingClient(): BurstingClient {
  const agent = new Agent({ keepAlive: true })
  return {
    ask: (port) => askOver(port, agent),
    [Symbol.dispose]: () => agent.destroy(),
  }
}

/** The same with a connection for each request. */
export function connectingClient(): BurstingClient {
  return { ask: (port) => askOver(port, false), [Symbol.dispose]: () => undefined }
}

function askOver(port: number, agent: Agent | false): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  const asked = request({ host: '127.0.0.1', port, path: '/', agent }, (response) => {
    response.resume().on('error', (error) => resolve(error.message))
    response.on('end', () => resolve(response.statusCode ?? 0))
  })
  asked.on('error', (error) => resolve(error.message)).end()
  return promise
}
