import * as http from 'node:http'
import * as https from 'node:https'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type Clock } from '../../model/clock.ts'
import { type SendOutcome, type Transport } from '../../model/send-outcome.ts'
import { errorText } from '../../model/error-text.ts'
import { MAX_REPLY_BYTES } from '../export-reply.ts'
import { outcomeOfHttpReply } from './http-outcome.ts'
import { post } from './http-post.ts'
import type { Credentials } from '../../trust/authenticator.ts'
import { openClientTls, type ClientTlsSettings } from '../../trust/client-tls.ts'

export interface HttpTransportSettings {
  /** Where to post, path included, such as http://localhost:4318/v1/traces. */
  url: string
  tls: ClientTlsSettings
  headers: Readonly<Record<string, string>>
  compression: 'gzip' | 'none'
  /** How long one export may take, connecting included. */
  timeoutMs: number
  userAgent: string
  /** Turns protobuf bytes into OTLP/JSON text; given, requests are sent as JSON. */
  toJson?: (request: Uint8Array) => string
  /** Shown with every request, beside the headers; disposed of with the transport. */
  credentials?: Credentials | undefined
  /** Told of a change of the certificate files that could not be used. */
  onTrouble?: (reason: string) => void
}

const compress = promisify(gzip)

/**
 * Opens OTLP/HTTP to one backend (OTLP specification, "OTLP/HTTP") over kept-alive connections. Throws when
 * the URL, a header or a certificate file is unusable.
 */
export function openHttpTransport(settings: HttpTransportSettings, clock: Pick<Clock, 'wallMs'>): Transport {
  const url = new URL(settings.url)
  const headers = headersOf(settings)
  const { credentials } = settings
  const { agent, secured } = agentFor(url, settings)
  let closed = false

  async function exportOnce(request: Uint8Array, signal: AbortSignal): Promise<SendOutcome> {
    const body = await encode(request, settings)
    const limits = { timeoutMs: settings.timeoutMs, maxReplyBytes: MAX_REPLY_BYTES, signal }
    const shown = credentials && { [credentials.header]: credentials.value() }
    const options = { agent, headers: { ...headers, ...shown, 'content-length': body.length } }
    const reply = await post(url, options, body, limits)
    return outcomeOfHttpReply(reply, clock.wallMs())
  }

  return {
    async send(request, signal) {
      if (signal.aborted || closed) return { kind: 'retry', reason: 'stopped before sending' }
      try {
        return await exportOnce(request, signal)
      } catch (error) {
        if (error instanceof Unencodable) return { kind: 'refused', splittable: true, reason: error.message }
        return { kind: 'retry', reason: errorText(error) }
      }
    },
    [Symbol.asyncDispose]() {
      closed = true
      secured?.[Symbol.dispose]()
      settings.credentials?.[Symbol.dispose]()
      agent.destroy()
      return Promise.resolve()
    },
  }
}

class Unencodable extends Error {}

async function encode(request: Uint8Array, settings: HttpTransportSettings): Promise<Uint8Array> {
  const plain = settings.toJson ? jsonBytes(request, settings.toJson) : request
  return settings.compression === 'gzip' ? compress(plain) : plain
}

function jsonBytes(request: Uint8Array, toJson: (request: Uint8Array) => string): Uint8Array {
  try {
    return Buffer.from(toJson(request))
  } catch (cause) {
    throw new Unencodable(`cannot be written as OTLP/JSON: ${errorText(cause)}`, { cause })
  }
}

/** Header values are often secrets, so an error names only the header. */
function headersOf(settings: HttpTransportSettings): Record<string, string> {
  const given = Object.entries(settings.headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  for (const [name, value] of given) {
    try {
      http.validateHeaderName(name)
      http.validateHeaderValue(name, value)
    } catch {
      throw new Error(
        `headers: ${name} cannot be sent over HTTP: use only letters, digits, - _ . and printable values`,
      )
    }
  }
  return {
    'user-agent': settings.userAgent,
    ...Object.fromEntries(given),
    'content-type': settings.toJson ? 'application/json' : 'application/x-protobuf',
    ...(settings.compression === 'gzip' && { 'content-encoding': 'gzip' }),
  }
}

/** Connections made after a change of the certificate files use the new ones; resting ones are closed. */
function agentFor(
  url: URL,
  { tls, onTrouble }: HttpTransportSettings,
): { agent: http.Agent; secured?: Disposable } {
  if (url.protocol === 'http:') return { agent: new http.Agent({ keepAlive: true }) }
  if (url.protocol !== 'https:')
    throw new Error(`${url.protocol}// cannot be exported to; write http:// or https://`)
  const secured = openClientTls(tls, onTrouble)
  const agent = new https.Agent({
    keepAlive: true,
    ...secured.current,
    rejectUnauthorized: !tls.insecureSkipVerify,
    ...(tls.serverNameOverride !== undefined && { servername: tls.serverNameOverride }),
  })
  secured.onChange((changed) => {
    Object.assign(agent.options, changed)
    for (const resting of Object.values(agent.freeSockets))
      for (const socket of resting ?? []) socket.destroy()
  })
  return { agent, secured }
}
