import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { Server, ServerCredentials, type Metadata, type handleUnaryCall } from '@grpc/grpc-js'
import type { IngestOutcome, IngestPort, Signal } from '../../../model/ingest.ts'
import { Connections } from '../../../listeners/connections.ts'
import { refusalText } from '../../../listeners/count-requests.ts'
import { encodeExportResponse } from '../../../otlp/write/export-response.ts'
import { admission, type AdmissionSettings, type GrpcConnection } from './grpc-admission.ts'
import { keepaliveOptions, type KeepaliveSettings } from './grpc-keepalive.ts'
import { BodyPace } from '../../http/body-pace.ts'
import { EXPORT_METHODS } from './grpc-services.ts'
import { grpcStatusOf } from './grpc-status.ts'
import { GrpcSenders } from './grpc-senders.ts'
import { Intake, type Origin } from '../../admission/intake.ts'
import { listen } from '../../listening/listen.ts'
import type { ReceiverObserver } from '../../observer.ts'
import {
  connectionLimitsOf,
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_REQUEST_TIMEOUT_MS,
  FIRST_BYTES_MS,
  type ReceiverSettings,
  type RunningReceiver,
} from '../../listening/receiver-settings.ts'
import { followCertificates, openServerTls } from '../../../trust/server-tls.ts'
import { reportFailedHandshakes } from '../../listening/failed-handshakes.ts'

export interface GrpcReceiverSettings extends ReceiverSettings {
  /** How many requests one connection may have in flight; 100 unless given. */
  maxConcurrentStreams?: number
  keepalive?: KeepaliveSettings
}

const DEFAULT_MAX_CONCURRENT_STREAMS = 100
/** What every HTTP/2 client sends first (RFC 9113, section 3.4). */
const PREFACE_BYTES = 24

/**
 * Takes OTLP/gRPC (OTLP specification, OTLP/gRPC) and hands every request to the port as it came. A message counts
 * toward the budget as it comes. Rejects with an error that says what
 * to do when it cannot listen. The socket is not bound by grpc-js, which would hide the reason
 * of a failure and leave connections open when they are to be cut off; nor does it speak TLS, since it could not exchange
 * the certificates of a listener that is open.
 */
export async function startGrpcReceiver(
  settings: GrpcReceiverSettings,
  port: IngestPort,
  observer: ReceiverObserver,
): Promise<RunningReceiver> {
  const intake = new Intake(settings, 'grpc', { port, observer })
  const sessions = new WeakMap<Metadata, object>()
  const asksForCredential = settings.authenticator !== undefined || settings.tls?.clientCaFile !== undefined
  const senders = asksForCredential
    ? new GrpcSenders({
        connectionOf: (metadata) => sessions.get(metadata),
        onKnown: (endpoints) => connections.known(endpoints),
      })
    : undefined
  const pace = new BodyPace(settings.bodyPaceMs)
  const limits = connectionLimitsOf(settings)
  const grpc = serverOf(settings, intake, {
    ...{ sessions, senders, pace },
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
    (reason) => intake.dropped(reason),
    (connection) => (connection as GrpcConnection).session.close(),
  )
  server.once('close', () => pace[Symbol.dispose]())
  const purpose = { what: 'OTLP/grpc', setting: 'protocols::grpc::endpoint' }
  return listen(server, settings, purpose, connections, {
    drain: () => grpc.tryShutdown(() => undefined),
    giveUp: () => intake.stopWaiting(),
  })
}

/** What is known of the calls under way. */
interface Calls extends Pick<AdmissionSettings, 'begin' | 'refusalText'> {
  /** The connection that each came on. */
  sessions: WeakMap<Metadata, object>
  senders: GrpcSenders | undefined
  pace: BodyPace
}

function serverOf(
  settings: GrpcReceiverSettings,
  intake: Intake,
  { sessions, senders, pace, begin, refusalText }: Calls,
): Server {
  const maxMessageBytes = settings.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
  const requestTimeoutMs = settings.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_concurrent_streams': settings.maxConcurrentStreams ?? DEFAULT_MAX_CONCURRENT_STREAMS,
    'grpc.enable_channelz': 0,
    ...(settings.keepalive && keepaliveOptions(settings.keepalive)),
    interceptors: [
      admission(intake, {
        maxMessageBytes,
        requestTimeoutMs,
        refused: (path, refusal) => {
          const signal = settings.signals.find((known) => EXPORT_METHODS[known].path === path)
          if (signal !== undefined) intake.answered(signal, refusal, 0)
        },
        senderOf: (metadata) => senders?.of(metadata),
        ...{ pace, begin, refusalText },
        onCall: (metadata, connection) => sessions.set(metadata, connection),
      }),
      ...(senders === undefined ? [] : [senders.interceptor(intake)]),
    ],
  })
  for (const signal of settings.signals) {
    server.addService(
      { export: EXPORT_METHODS[signal] },
      {
        export: exporting(signal, intake, (metadata) => ({
          sender: senders?.of(metadata),
          connection: sessions.get(metadata) ?? metadata,
        })),
      },
    )
  }
  return server
}

function exporting(
  signal: Signal,
  intake: Intake,
  originOf: (metadata: Metadata) => Origin,
): handleUnaryCall<Buffer, Buffer> {
  const ingest = async (request: Buffer, origin: Origin): Promise<IngestOutcome> =>
    intake.ready(await intake.ingest(signal, 'protobuf', request, origin))
  return ({ request, metadata }, answer) => {
    const { length } = request
    void ingest(request, originOf(metadata)).then((outcome) => {
      intake.answered(signal, outcome, length)
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

/** A connection on which nobody speaks HTTP/2 takes the place of one on which somebody would. */
function closeSilentSocket(socket: Socket, withinMs: number): void {
  const timer = setTimeout(() => {
    if (socket.bytesRead < PREFACE_BYTES) socket.destroy()
  }, withinMs)
  socket.once('close', () => clearTimeout(timer))
}
