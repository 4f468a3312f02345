import { type Json, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { CONTROLS } from '../../src/model/untrusted-names.ts'
import { readNamedFile } from '../../src/platform/named-file.ts'

type Env = Readonly<Record<string, string | undefined>>

const USUAL = 'http://127.0.0.1:4318'
/** How many bytes of an answer are read; Causeway's are shorter. */
const MAX_ANSWER = 65_536

/** An OTLP/HTTP endpoint, with its headers and certificate authority. */
export class OtlpEndpoint {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #ca: string | undefined

  /** Throws an Error that says what to write instead. */
  constructor(named: string | undefined, env: Env) {
    const url = named ?? (env['OTEL_EXPORTER_OTLP_ENDPOINT'] || USUAL)
    if (!/^https?:\/\//.test(url) || !URL.canParse(url))
      throw new Error(`the endpoint "${url}" is no URL; write one of OTLP over HTTP, such as ${USUAL}`)
    this.#url = url.replace(/\/+$/, '')
    this.#headers = headersOf(env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '')
    const file = env['OTEL_EXPORTER_OTLP_CERTIFICATE']
    this.#ca = file ? readNamedFile(file).toString('utf8') : undefined
  }

  get address(): string {
    const { protocol, host } = new URL(this.#url)
    return `${protocol}//${host}`
  }

  /** Sends a request in JSON. Resolves once all of it is accepted; rejects with the reason otherwise, also for a partial success. */
  async send(signal: 'traces' | 'logs', content: object, abort: AbortSignal): Promise<void> {
    const { http, https } = await import('../../src/kube/cluster/api-server.ts')
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const body = JSON.stringify(content)
    const request = (this.#url.startsWith('https:') ? https : http).request(`${this.#url}/v1/${signal}`, {
      method: 'POST',
      // One request or two: nothing is kept open for more.
      agent: false,
      headers: {
        ...this.#headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
      signal: abort,
      ...(this.#ca !== undefined && { ca: this.#ca }),
    })
    request.on('error', reject).on('response', (answer) => {
      const { statusCode = 0 } = answer
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        if (text.length < MAX_ANSWER) text += piece
      })
      answer.on('error', reject).on('end', () => {
        const refused = refusedIn(text)
        if (statusCode < 200 || statusCode >= 300)
          reject(new Error(`it answers ${statusCode} to /v1/${signal}`))
        else if (refused === '') resolve(undefined)
        else reject(new NotAllTaken(`it did not take all of it: ${refused}`))
      })
    })
    request.end(body)
    await promise
  }
}

/** The endpoint was reached, and refused the data or a part of it. */
export class NotAllTaken extends Error {}

/** Why a part of a request was refused (OTLP specification, Partial Success); empty if all was accepted. */
function refusedIn(answer: string): string {
  const partly = objectIn(parsed(answer), 'partialSuccess')
  const isRefused = Number(partly['rejectedSpans'] ?? 0) > 0
  const said = textIn(partly, 'errorMessage') || (isRefused ? 'it does not say why' : '')
  return said.replaceAll(CONTROLS, '\ufffd')
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** `key=value,key=value`, values as in URLs. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const [, name = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
    return name === '' ? [] : [[name.toLowerCase(), decoded(value)] as const]
  })
  return Object.fromEntries(pairs)
}

/** A value of OpenTelemetry's environment, where it is percent-encoded. */
export function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
