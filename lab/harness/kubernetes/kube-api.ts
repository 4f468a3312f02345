import { request } from 'node:https'

/** An API server as one of its users sees it. */
export class KubeApi {
  readonly #port: number
  readonly #ca: string
  readonly #token: string

  constructor(port: number, ca: string, token: string) {
    this.#port = port
    this.#ca = ca
    this.#token = token
  }

  get<Answer>(path: string): Promise<Answer> {
    return this.#ask<Answer>('GET', path)
  }

  create<Answer>(path: string, object: object): Promise<Answer> {
    return this.#ask<Answer>('POST', path, object)
  }

  /** What it answers, parsed where it is JSON; throws an Error with its words unless that is a success. */
  #ask<Answer>(method: string, path: string, object?: object): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' }
    const where = { host: 'localhost', port: this.#port, path, method, headers, ca: this.#ca, agent: false }
    const asked = request({ ...where, family: 4 }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('error', reject).on('end', () => {
        const { statusCode = 0 } = response
        if (statusCode >= 300) reject(new Error(`${method} ${path} is answered ${statusCode}: ${text}`))
        else resolve((text.startsWith('{') ? JSON.parse(text) : text) as Answer)
      })
    })
    asked.on('error', reject).end(object === undefined ? undefined : JSON.stringify(object))
    return promise
  }
}
