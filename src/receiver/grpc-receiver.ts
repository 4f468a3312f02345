import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { Server, ServerCredentials, type handleUnaryCall } from '@grpc/grpc-js'
import type { IngestOutcome, IngestPort, Signal } from '../model/ingest.ts'
import { encodeExportResponse } from '../otlp/export-response.ts'
import { admission } from './grpc-admission.ts'
import { EXPORT_METHODS } from './grpc-services.ts'
import { grpcStatusOf } from './grpc-status.ts'
import type { Sender } from '../model/sender.ts'
import { GrpcSenders } from './grpc-senders.ts'
import { NO_ROOM } from './in-flight.ts'
import { Intake } from './intake.ts'
import { listen } from './listen.ts'
import type { ReceiverObserver } from './observer.ts'
import {
  DEFAULT_MAX_MESSAGE_BYTES,
  type ReceiverSettings,
  type RunningReceiver,
} from './receiver-settings.ts'
import { followCertificates, openServerTls } from '../trust/server-tls.ts'
import { tellOfHandshakes } from './failed-handshakes.ts'

export interface GrpcReceiverSettings extends ReceiverSettings {
  /** How many requests one connection may have in flight; 256 unless given. */
  maxConcurrentStreams?: number
}

const DEFAULT_MAX_CONCURRENT_STREAMS = 256

/**
 * Takes OTLP/gRPC (OTLP specification, OTLP/gRPC) and hands every request to the port as it came. A message counts
 * toward the budget once it is whole, since grpc-js does not show it sooner. Rejects with an error that says what
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
  const senders =
    settings.authenticator === undefined && settings.tls?.clientCaFile === undefined
      ? undefined
      : new GrpcSenders()
  const grpc = serverOf(settings, intake, senders)
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
  const server = listenerOf(settings, (socket) => {
    senders?.connected(socket)
    injector.injectConnection(socket)
  })
  return listen(server, settings, 'grpc', {
    drain: () => grpc.tryShutdown(() => undefined),
    giveUp: () => intake.stopWaiting(),
  })
}

function serverOf(settings: GrpcReceiverSettings, intake: Intake, senders: GrpcSenders | undefined): Server {
  const server = new Server({
    'grpc.max_receive_message_length': settings.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': settings.maxConcurrentStreams ?? DEFAULT_MAX_CONCURRENT_STREAMS,
    'grpc.enable_channelz': 0,
    interceptors: [
      admission(intake.inFlight, (path, refusal) => {
        const signal = settings.signals.find((known) => EXPORT_METHODS[known].path === path)
        if (signal !== undefined) intake.answered(signal, refusal, 0)
      }),
      ...(senders === undefined ? [] : [senders.interceptor(intake)]),
    ],
  })
  for (const signal of settings.signals) {
    server.addService({ export: EXPORT_METHODS[signal] }, { export: exporting(signal, intake, senders) })
  }
  return server
}

function exporting(
  signal: Signal,
  intake: Intake,
  senders: GrpcSenders | undefined,
): handleUnaryCall<Buffer, Buffer> {
  const ingest = async (request: Buffer, sender: Sender | undefined): Promise<IngestOutcome> => {
    using reservation = intake.inFlight.open()
    if (!reservation.take(request.length)) return NO_ROOM
    return await intake.ingest(signal, 'protobuf', request, sender)
  }
  return ({ request, metadata }, answer) => {
    const { length } = request
    void ingest(request, senders?.of(metadata)).then((outcome) => {
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
  tellOfHandshakes(server, settings)
  return server
}
