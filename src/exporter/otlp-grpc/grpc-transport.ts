import { isIP } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import {
  ChannelCredentials,
  Client,
  type ClientUnaryCall,
  compressionAlgorithms,
  connectivityState,
  InterceptingCall,
  type Interceptor,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import type { ClientTlsSettings } from '../../model/connection-settings.ts'
import { errorText } from '../../model/faults.ts'
import { isLoopback } from '../../model/untrusted-names.ts'
import { EXPORT_METHODS, type Signal } from '../../model/otlp-requests.ts'
import { bufferOf } from '../../model/otlp/protobuf-wire.ts'
import type { SendOutcome, Transport } from '../../model/outbox.ts'
import { openClientTls } from '../../platform/tls.ts'
import {
  MAX_REPLY_BYTES,
  outcomeOfReply,
  readRpcStatus,
  shorten,
  UNREADABLE_REPLY,
} from '../backend-replies.ts'
import type { SendingHost } from '../exporter-type.ts'
import type { TransportSettings } from '../otlp-exporter-settings.ts'
import type { OtlpGrpcSettings } from './otlp-grpc-exporter.ts'

/** The transport of a configured exporter. */
export function openTransport(settings: OtlpGrpcSettings, signal: Signal, host: SendingHost): Transport {
  const { userAgent, onTrouble, credentials, longestMs: timeoutMs = settings.timeoutMs } = host
  return openGrpcTransport({ ...settings, signal, userAgent, onTrouble, credentials, timeoutMs })
}

export interface GrpcTransportSettings extends TransportSettings {
  host: string
  port: number
  /** Which OTLP service to call; traces when absent. */
  signal?: Signal
}

/** An unusual number, which distinguishes grpc-js's error about a reply's size from a backend's error about a request's size. */
const LONGEST_REPLY_BYTES = MAX_REPLY_BYTES + 1

/** grpc-js would wait up to two minutes between attempts to connect; the retry interval should govern. */
const RECONNECT_WITHIN_MS = 5000

/**
 * Opens OTLP/gRPC to one backend (OTLP specification, "OTLP/gRPC"). It connects on the first send, so a
 * backend that is down makes sends answer retry. Throws when a header or a certificate file is unusable.
 */
export function openGrpcTransport(settings: GrpcTransportSettings): Transport {
  const method = EXPORT_METHODS[settings.signal ?? 'traces']
  const metadata = metadataOf(settings.headers)
  const { credentials } = settings
  const secured = settings.tls.insecure ? undefined : openClientTls(settings.tls, settings.onTrouble)
  const connect = (): Client => {
    const credentials = credentialsOf(settings.tls, secured?.current)
    return new Client(targetOf(settings), credentials, channelOptions(settings))
  }
  const calls = new Set<ClientUnaryCall>()
  let client = connect()
  secured?.onChange(() => {
    const used = client
    client = connect()
    used.close()
  })

  function call(request: Uint8Array, signal: AbortSignal): Promise<SendOutcome> {
    const { promise, resolve } = Promise.withResolvers<SendOutcome>()
    const used = client
    const shown = metadata.clone()
    if (credentials !== undefined) shown.set(credentials.header, credentials.value())
    // grpc-js compares this with the machine's calendar itself, so no other clock would do.
    const deadline = Date.now() + settings.timeoutMs
    let head: Metadata | undefined
    const running = used.makeUnaryRequest<Buffer, Buffer>(
      method,
      sameBytes,
      sameBytes,
      bufferOf(request),
      shown,
      { deadline, interceptors: READ_ON },
      (error, reply) => {
        calls.delete(running)
        signal.removeEventListener('abort', cancel)
        if (error?.code === status.DEADLINE_EXCEEDED) leave(used)
        resolve(error ? outcomeOfGrpcError(error, head) : outcomeOfReply(reply ?? Buffer.alloc(0)))
      },
    )
    running.on('metadata', (begun: Metadata) => (head = begun))
    const cancel = (): void => running.cancel()
    calls.add(running)
    signal.addEventListener('abort', cancel, { once: true })
    return promise
  }

  /**
   * A connection whose peer vanished silently looks slow for many minutes, so a timeout opens another. A connection attempt still
   * under way is kept: grpc-js would never close its socket.
   */
  function leave(used: Client): void {
    if (client !== used || used.getChannel().getConnectivityState(false) !== connectivityState.READY) return
    client = connect()
    used.close()
  }

  return {
    async send(request, signal) {
      if (signal.aborted) return { kind: 'retry', reason: 'stopped before sending' }
      try {
        return await call(request, signal)
      } catch (error) {
        return { kind: 'retry', reason: errorText(error) }
      }
    },
    [Symbol.asyncDispose]() {
      secured?.[Symbol.dispose]()
      settings.credentials?.[Symbol.dispose]()
      for (const running of calls) running.cancel()
      client.close()
      return Promise.resolve()
    },
  }
}

/** Reads on after a message: grpc-js would otherwise wait for the deadline on a reply with two messages. */
const READ_ON: Interceptor[] = [
  (options, nextCall) => {
    const call = new InterceptingCall(nextCall(options), {
      start: (metadata, _, next) =>
        next(metadata, {
          onReceiveMessage: (message: unknown, nextMessage) => {
            nextMessage(message)
            if (message !== null) call.startRead()
          },
        }),
    })
    return call
  },
]

const sameBytes = (bytes: Buffer): Buffer => bytes

function targetOf({ host, port }: GrpcTransportSettings): string {
  return `dns:${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

function credentialsOf(
  tls: ClientTlsSettings,
  options: SecureContextOptions | undefined,
): ChannelCredentials {
  if (options === undefined) return ChannelCredentials.createInsecure()
  return ChannelCredentials.createFromSecureContext(createSecureContext(options), {
    ...(tls.insecureSkipVerify && { rejectUnauthorized: false, checkServerIdentity: () => undefined }),
  })
}

function channelOptions(settings: GrpcTransportSettings): ConstructorParameters<typeof Client>[2] {
  const name = settings.tls.serverNameOverride
  return {
    'grpc.primary_user_agent': settings.userAgent,
    'grpc.max_receive_message_length': LONGEST_REPLY_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.max_reconnect_backoff_ms': RECONNECT_WITHIN_MS,
    'grpc.service_config_disable_resolution': 1,
    // With shared connections `leave` could not close this one.
    'grpc.use_local_subchannel_pool': 1,
    ...(settings.compression === 'gzip' && {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    }),
    ...(name !== undefined && { 'grpc.ssl_target_name_override': name, 'grpc.default_authority': name }),
    ...(isLoopback(settings.host) && { 'grpc.enable_http_proxy': 0 }),
  }
}

/** Header values are often secrets, so an error names only the header. */
function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) {
    try {
      metadata.set(name, name.toLowerCase().endsWith('-bin') ? Buffer.from(value) : value)
    } catch {
      throw new Error(
        `headers: ${name} cannot be sent over gRPC: use only letters, digits, - _ . and printable values`,
      )
    }
  }
  return metadata
}

const RETRYABLE: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
])

/** Refusals that may be about the size of the batch or about one span in it. */
const SPLITTABLE: ReadonlySet<status> = new Set([status.RESOURCE_EXHAUSTED, status.INVALID_ARGUMENT])

const CORRECT_IT = 'as no OTLP backend does; correct the endpoint, or a proxy before it'

/**
 * What a failed export call means (OTLP specification, "OTLP/gRPC Response" and "OTLP/gRPC Throttling"); `head` is that of the
 * reply, if one began.
 */
export function outcomeOfGrpcError(error: ServiceError, head?: Metadata): SendOutcome {
  if (head !== undefined && isUnreadable(error)) {
    return isOfGrpc(head)
      ? UNREADABLE_REPLY
      : { kind: 'retry', reason: `it answers with no gRPC, ${CORRECT_IT}` }
  }
  const reason = isWithoutMessage(error)
    ? `it answers OK without a message, ${CORRECT_IT}`
    : shorten(`${nameOf(error.code)}: ${error.details}`)
  const afterMs = retryInfoMs(error)
  const throttled = error.code === status.RESOURCE_EXHAUSTED && afterMs !== undefined
  if (RETRYABLE.has(error.code) || throttled || isUnsaid(error)) {
    return afterMs === undefined ? { kind: 'retry', reason } : { kind: 'retry', afterMs, reason }
  }
  return { kind: 'refused', splittable: SPLITTABLE.has(error.code), reason }
}

const nameOf = (code: status): string => (code in status ? status[code] : `status ${code}`)

const UNREADABLE = new RegExp(
  `^(Too many responses received|Failed to decompress (gzip|deflate)-encoded message|Received message .*\\b${LONGEST_REPLY_BYTES}\\)?)$`,
)

/** Whether grpc-js could not read a reply's message, which backends send only on success. Some such errors have no status. */
function isUnreadable({ code, details }: Partial<ServiceError>): boolean {
  return code === undefined || UNREADABLE.test(details ?? '')
}

function isOfGrpc(head: Metadata): boolean {
  return String(head.get('content-type')[0]).startsWith('application/grpc')
}

/** Statuses that grpc-js synthesizes for streams and connections that ended without one, besides retryable codes. */
const UNSAID: readonly { code: status; details: RegExp }[] = [
  { code: status.INTERNAL, details: /^(Received RST_STREAM|Write error: |Failed to start HTTP\/2 stream)/ },
  // ENHANCE_YOUR_CALM: it asks for fewer requests, not for smaller ones.
  { code: status.RESOURCE_EXHAUSTED, details: /^Bandwidth exhausted or memory limit exceeded$/ },
  // INADEQUATE_SECURITY
  { code: status.PERMISSION_DENIED, details: /^Protocol not secure enough$/ },
  { code: status.UNKNOWN, details: /^Received HTTP status code (200|3\d\d)$/ },
]

/** Whether the status does not come from the backend, which then has refused nothing. */
function isUnsaid(error: ServiceError): boolean {
  const { code, details } = error
  return UNSAID.some((one) => one.code === code && one.details.test(details)) || isWithoutMessage(error)
}

/** Whether grpc-js got an answer without a message. A proxy may have sent it, so it neither accepts nor refuses the data. */
function isWithoutMessage({ code, details }: ServiceError): boolean {
  return code === status.UNIMPLEMENTED && details === 'No message received'
}

function retryInfoMs(error: ServiceError): number | undefined {
  const details = error.metadata.get('grpc-status-details-bin')[0]
  return Buffer.isBuffer(details) ? readRpcStatus(details)?.retryAfterMs : undefined
}
