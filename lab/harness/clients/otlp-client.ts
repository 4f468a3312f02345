import { Agent, type IncomingMessage, request } from 'node:http'
import { Client, credentials, type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js'
import { readRpcStatus } from '../../../src/exporter/backend-replies.ts'
import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'
import { EXPORT_METHODS } from '../export-methods.ts'

export type Protocol = 'grpc' | 'http/json'

/** What became of a request. Anything but these outcomes is thrown. */
export interface Answer {
  /** Acknowledged whole, or refused for now, to be sent again. */
  outcome: 'taken' | 'refused'
  /** How long the receiver wants a refused request to wait; 0 when it does not say. */
  retryAfterMs: number
}

/** One connection of a sender, or over HTTP as many as it has requests under way. */
export interface OtlpClient {
  spans: (body: Buffer) => Promise<Answer>
  /** `body` is protobuf, whatever the protocol. */
  logs: (body: Buffer) => Promise<Answer>
  close: () => void
}

/** The specification's answers that ask to come again. */
const GRPC_LATER = new Set<number>([status.UNAVAILABLE, status.RESOURCE_EXHAUSTED])
const HTTP_LATER = new Set([429, 502, 503, 504])
const CONNECT_MS = 10_000
const TAKEN: Answer = { outcome: 'taken', retryAfterMs: 0 }

/** Connects to a receiver at `host:port`. */
export function openClient(protocol: Protocol, endpoint: string): Promise<OtlpClient> {
  return protocol === 'grpc' ? openGrpc(endpoint) : Promise.resolve(openHttp(endpoint))
}

async function openGrpc(endpoint: string): Promise<OtlpClient> {
  const client = connectionTo(endpoint)
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  client.waitForReady(Date.now() + CONNECT_MS, (error) => {
    if (error === undefined) resolve(undefined)
    else reject(error)
  })
  await promise
  return overGrpc(client, Infinity)
}

/** Connects with the first request; one that is not answered in `withinMs` is thrown. */
export function grpcClient(endpoint: string, withinMs: number): OtlpClient {
  return overGrpc(connectionTo(endpoint), withinMs)
}

function connectionTo(endpoint: string): Client {
  return new Client(endpoint, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })
}

function overGrpc(client: Client, withinMs: number): OtlpClient {
  const send = (
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Buffer, Buffer>,
    body: Buffer,
  ) => {
    const answer = Promise.withResolvers<Answer>()
    const onReply = (error: ServiceError | null, reply?: Buffer): void => {
      if (error !== null) {
        if (GRPC_LATER.has(error.code))
          answer.resolve({ outcome: 'refused', retryAfterMs: grpcDelayMs(error) })
        else answer.reject(error)
      } else if (reply !== undefined && isTakenWhole(reply)) answer.resolve(TAKEN)
      else answer.reject(new Error(`not taken whole: ${String(reply)}`))
    }
    const options = { deadline: Date.now() + withinMs }
    client.makeUnaryRequest<Buffer, Buffer>(
      path,
      requestSerialize,
      responseDeserialize,
      body,
      options,
      onReply,
    )
    return answer.promise
  }
  return {
    spans: (body) => send(EXPORT_METHODS.traces, body),
    logs: (body) => send(EXPORT_METHODS.logs, body),
    close: () => client.close(),
  }
}

function grpcDelayMs({ metadata }: ServiceError): number {
  const details = metadata.get('grpc-status-details-bin')[0]
  return (details instanceof Uint8Array ? readRpcStatus(details)?.retryAfterMs : undefined) ?? 0
}

/** Of Retry-After in seconds, the only form that receivers of OTLP send. */
function httpDelayMs({ headers }: IncomingMessage): number {
  return Number(headers['retry-after'] ?? 0) * 1000
}

/** An answer with a partial success that names nothing refused and says nothing is whole too. */
function isTakenWhole(reply: Buffer): boolean {
  const cursor = new WireCursor(reply)
  while (cursor.next()) if (cursor.field === 1 && cursor.end > cursor.start) return false
  return true
}

function openHttp(endpoint: string): OtlpClient {
  const agent = new Agent({ keepAlive: true })
  const send = (path: string, type: string, body: Buffer): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const headers = { 'content-type': type, 'content-length': body.length }
    const onResponse = (response: IncomingMessage): void => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('error', reject).on('end', () => {
        const code = response.statusCode ?? 0
        if (HTTP_LATER.has(code)) resolve({ outcome: 'refused', retryAfterMs: httpDelayMs(response) })
        else if (code === 200 && !/rejectedSpans|errorMessage/.test(text)) resolve(TAKEN)
        else reject(new Error(`${path} is answered ${code}: ${text}`))
      })
    }
    request(`http://${endpoint}${path}`, { method: 'POST', agent, headers }, onResponse)
      .on('error', reject)
      .end(body)
    return promise
  }
  return {
    spans: (body) => send('/v1/traces', 'application/json', body),
    logs: (body) => send('/v1/logs', 'application/x-protobuf', body),
    close: () => agent.destroy(),
  }
}
