import type { ServerHttp2Session } from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import {
  type handleUnaryCall,
  type Metadata,
  type MethodDefinition,
  type Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServerOptions,
  type StatusObject,
} from '@grpc/grpc-js'
import {
  EXPORT_METHODS,
  type IngestOutcome,
  type IngestPort,
  type Sender,
  type Signal,
} from '../../model/otlp-requests.ts'
import { encodeExportResponse } from '../../model/otlp/responses.ts'
import { Connections, type Endpoints, peerOf } from '../../platform/connections.ts'
import type { Checked } from '../../platform/credentials.ts'
import { grpcJsServer } from '../../platform/grpc-js-server.ts'
import { refusalText } from '../../platform/http-listener.ts'
import { certificateNames, followCertificates, openServerTls } from '../../platform/tls.ts'
import { reportFailedHandshakes } from '../failed-handshakes.ts'
import { SlowBodyWatch } from '../request-body.ts'
import { Intake, type Origin } from '../intake.ts'
import {
  connectionLimitsOf,
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_REQUEST_TIMEOUT_MS,
  FIRST_BYTES_MS,
  listen,
  type ReceiverSettings,
  type RunningListener,
} from '../listener.ts'
import type { ReceiverObserver } from '../receiver-type.ts'
import {
  admissionInterceptor,
  type AdmissionSettings,
  bareStatus,
  type CallOrigins,
  type GrpcConnection,
  grpcStatusOf,
} from './grpc-call.ts'
import type { GrpcKeepalive } from './otlp-receiver.ts'

export interface GrpcReceiverSettings extends ReceiverSettings {
  /** How many requests one connection may have in flight; 100 unless given. */
  maxConcurrentStreams?: number
  keepalive?: GrpcKeepalive
}

const DEFAULT_MAX_CONCURRENT_STREAMS = 100
/** What every HTTP/2 client sends first (RFC 9113, section 3.4). */
const PREFACE_BYTES = 24

/**
 * Takes OTLP/gRPC (OTLP specification, OTLP/gRPC) and hands every request to the port unchanged. A message counts
 * toward the budget as its bytes arrive. Rejects with an error that says what to do when it cannot listen. The socket is bound here:
 * grpc-js would hide why that failed, and leave connections open at a forced close. TLS is done here too: grpc-js cannot replace the
 * certificates of an open listener.
 */
export async function startGrpcReceiver(
  settings: GrpcReceiverSettings,
  port: IngestPort,
  observer: ReceiverObserver,
): Promise<RunningListener> {
  const intake = new Intake(settings, 'grpc', { port, observer })
  const origins: CallOrigins = new WeakMap()
  const asksForCredential = settings.authenticator !== undefined || settings.tls?.clientCaFile !== undefined
  const senders = asksForCredential
    ? new GrpcSenders(origins, (endpoints) => connections.known(endpoints))
    : undefined
  const pace = new SlowBodyWatch(settings.bodyPaceMs)
  const limits = connectionLimitsOf(settings)
  const grpc = serverOf(settings, intake, {
    ...{ origins, senders, pace },
    begin: (connection) => connections.begin(connection),
    refusalText: (reason) => refusalText(reason, limits),
  })
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
  const server = listenerOf(settings, (socket) => {
    senders?.connected(socket)
    if (settings.authenticator === undefined) connections.known(socket)
    closeSilentSocket(socket, settings.firstBytesMs ?? FIRST_BYTES_MS)
    injector.injectConnection(socket)
  })
  const connections = new Connections(
    server,
    limits,
    (reason) => intake.reportDropped(reason),
    (connection) => (connection as GrpcConnection).session.close(),
  )
  server.once('close', () => pace[Symbol.dispose]())
  const purpose = { what: 'OTLP/grpc', setting: 'protocols::grpc::endpoint' }
  return listen(server, settings, purpose, connections, {
    drain: () => grpc.tryShutdown(() => undefined),
    giveUp: () => intake.stopWaiting(),
  })
}

/** What the interceptors share about calls in flight. */
interface Calls extends Pick<AdmissionSettings, 'origins' | 'pace' | 'begin' | 'refusalText'> {
  senders: GrpcSenders | undefined
}

function serverOf(settings: GrpcReceiverSettings, intake: Intake, { senders, ...calls }: Calls): Server {
  const maxMessageBytes = settings.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
  const requestTimeoutMs = settings.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS
  const server = grpcJsServer({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': settings.maxConcurrentStreams ?? DEFAULT_MAX_CONCURRENT_STREAMS,
    'grpc.enable_channelz': 0,
    ...(settings.keepalive && keepaliveOptions(settings.keepalive)),
    interceptors: [
      admissionInterceptor(intake, {
        maxMessageBytes,
        requestTimeoutMs,
        refused: (path, refusal) => {
          const signal = settings.signals.find((known) => EXPORT_METHODS[known] === path)
          if (signal !== undefined) intake.reportAnswer(signal, refusal, 0)
        },
        ...calls,
      }),
      ...(senders === undefined ? [] : [senders.interceptor(intake)]),
    ],
  })
  for (const signal of settings.signals) {
    server.addService(
      { export: exportMethod(signal) },
      {
        export: exporting(signal, intake, calls.origins),
      },
    )
  }
  return server
}

function exporting(signal: Signal, intake: Intake, origins: CallOrigins): handleUnaryCall<Buffer, Buffer> {
  const ingest = async (request: Buffer, origin: Origin): Promise<IngestOutcome> =>
    intake.delayRefusal(await intake.ingest(signal, 'protobuf', request, origin))
  return ({ request, metadata }, answer) => {
    const { length } = request
    void ingest(request, origins.get(metadata) ?? { connection: metadata }).then((outcome) => {
      intake.reportAnswer(signal, outcome, length)
      if (outcome.kind !== 'accepted') answer(grpcStatusOf(outcome))
      else answer(null, Buffer.from(encodeExportResponse(signal, 'protobuf', outcome)))
    })
  }
}

function listenerOf(settings: GrpcReceiverSettings, take: (socket: Socket) => void): NetServer {
  const options = { noDelay: true, keepAlive: true }
  if (settings.tls === undefined) return createServer(options, take)
  const secured = openServerTls(`receiver ${settings.receiver}`, settings.tls, settings.onTrouble)
  const server = createTlsServer({ ...options, ...secured.current, ALPNProtocols: ['h2'] }, take)
  followCertificates(server, secured)
  reportFailedHandshakes(server, settings)
  return server
}

/** Closes a connection that sends no HTTP/2 preface in time, since it counts toward the connection limit. */
function closeSilentSocket(socket: Socket, withinMs: number): void {
  const timer = setTimeout(() => {
    if (socket.bytesRead < PREFACE_BYTES) socket.destroy()
  }, withinMs)
  socket.once('close', () => clearTimeout(timer))
}

type Unauthenticated = Exclude<Checked, { kind: 'known' }>

const BY_CERTIFICATE = Symbol('the sender that the certificate of this connection names')

/** A socket, or the proxy of it in its HTTP/2 session, which shows the socket's properties but is no socket itself. */
interface SocketWithSender extends Endpoints {
  [BY_CERTIFICATE]?: Sender
}

/** A connection and the sender that its certificate names. */
interface KnownConnection {
  byCertificate: Sender | undefined
  endpoints: Endpoints
  peer: string
  hasShownCredential: boolean
}

/** Identifies the sender of a gRPC call by the certificate of its connection and by its credential. */
export class GrpcSenders {
  readonly #origins: CallOrigins
  readonly #onKnown: (endpoints: Endpoints) => void
  readonly #byConnection = new WeakMap<object, KnownConnection>()

  /** `onKnown` is called for every connection that has shown a valid credential. */
  constructor(origins: CallOrigins, onKnown: (endpoints: Endpoints) => void) {
    this.#origins = origins
    this.#onKnown = onKnown
  }

  /** Attaches the names in a certificate to its connection, so that no other connection is mistaken for it. */
  connected(socket: Socket): void {
    if (!(socket instanceof TLSSocket) || !socket.authorized) return
    const marked: SocketWithSender = socket
    marked[BY_CERTIFICATE] = { certificate: certificateNames(socket) ?? [] }
  }

  /** Refuses calls without a valid credential, before their message is read. */
  interceptor(intake: Intake): ServerInterceptor {
    return (_, call) =>
      new ServerInterceptingCall(call, {
        start: (next) => {
          next({
            onReceiveMetadata: (metadata, pass) => {
              const origin = this.#origins.get(metadata) ?? { connection: metadata }
              const connection = this.#knownOf(origin.connection)
              const settle = (checked: Checked): void => {
                if (checked.kind !== 'known') {
                  if (checked.kind === 'unknown') intake.unauthenticated(checked)
                  call.sendStatus(statusOf(checked))
                  return
                }
                origin.sender = { ...connection?.byCertificate, ...checked.sender }
                this.#origins.set(metadata, origin)
                if (connection?.hasShownCredential === false) {
                  connection.hasShownCredential = true
                  this.#onKnown(connection.endpoints)
                }
                pass(metadata)
              }
              const checked = check(intake, metadata, connection?.peer)
              if ('then' in checked) void checked.then(settle)
              else settle(checked)
            },
          })
        },
      })
  }

  #knownOf(session: Partial<ServerHttp2Session>): KnownConnection | undefined {
    const before = this.#byConnection.get(session)
    if (before !== undefined) return before
    // A session without a socket cannot be answered.
    if (session.destroyed === true || session.socket === undefined) return undefined
    const marked: SocketWithSender = session.socket
    const { remoteAddress, remotePort, localAddress } = marked
    const known: KnownConnection = {
      byCertificate: marked[BY_CERTIFICATE],
      endpoints: { remoteAddress, remotePort, localAddress },
      peer: peerOf(remoteAddress),
      hasShownCredential: false,
    }
    this.#byConnection.set(session, known)
    return known
  }
}

function check(
  { authenticator }: Intake,
  metadata: Metadata,
  peer: string | undefined,
): Checked | Promise<Checked> {
  if (authenticator === undefined) return { kind: 'known', sender: {} }
  const [value] = metadata.get(authenticator.header)
  return authenticator.check(value?.toString(), peer)
}

function statusOf(turned: Unauthenticated): StatusObject {
  if (turned.kind === 'busy') return grpcStatusOf(turned)
  return bareStatus('unauthenticated', turned.reason)
}

const same = (bytes: Buffer): Buffer => bytes

/** Requests and responses stay bytes. */
const exportMethod = (signal: Signal): MethodDefinition<Buffer, Buffer> => ({
  path: EXPORT_METHODS[signal],
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
})

const OPTIONS: Readonly<Record<keyof GrpcKeepalive, string>> = {
  maxConnectionIdleMs: 'grpc.max_connection_idle_ms',
  maxConnectionAgeMs: 'grpc.max_connection_age_ms',
  maxConnectionAgeGraceMs: 'grpc.max_connection_age_grace_ms',
  timeMs: 'grpc.keepalive_time_ms',
  timeoutMs: 'grpc.keepalive_timeout_ms',
}
/** One less than the longest timer, which grpc-js treats as never. */
const MAX_MS = 2 ** 31 - 2

/** The options of grpc-js for these settings; one that is 0 is left out. */
export function keepaliveOptions(settings: GrpcKeepalive): ServerOptions {
  const entries = Object.entries(OPTIONS).map(([key, option]) => [
    option,
    Math.min(settings[key as keyof GrpcKeepalive], MAX_MS),
  ])
  return Object.fromEntries(entries.filter(([, ms]) => ms !== 0)) as ServerOptions
}
