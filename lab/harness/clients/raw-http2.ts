import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { EXPORT_METHODS } from '../export-methods.ts'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const HEAD_BYTES = 9
const DATA = 0
const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const CONTINUATION = 9
const ACK = 1
const END_STREAM = 1
const END_HEADERS = 4

/** A frame as RFC 9113 writes it (section 4.1). */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Literal fields that are not indexed (RFC 7541, section 6.2.2), each shorter than 127 bytes. */
export function headerBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer[] => [Buffer.from([value.length]), Buffer.from(value, 'latin1')]
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), ...text(name), ...text(value)]))
}

const callTo = (path: string): Buffer =>
  headerBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'x'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ])

/** A short method of the query port, and what OTLP/gRPC is called by. */
export const GRPC_PATHS = {
  grpc: EXPORT_METHODS.traces.path,
  query: '/jaeger.storage.v2.TraceReader/GetServices',
} as const
const CALLS = { grpc: callTo(GRPC_PATHS.grpc), query: callTo(GRPC_PATHS.query) }

export const callFrame = (stream: number, isWhole = true, at: keyof typeof CALLS = 'grpc'): Buffer =>
  frame(HEADERS, isWhole ? END_HEADERS : 0, stream, CALLS[at])
export const dataFrame = (stream: number, bytes: Buffer, isLast = false): Buffer =>
  frame(DATA, isLast ? END_STREAM : 0, stream, bytes)
export const resetFrame = (stream: number): Buffer => frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, 8]))
export const settingsFrame = (): Buffer => frame(SETTINGS, 0, 0)
export const pingFrame = (): Buffer => frame(PING, 0, 0, Buffer.alloc(8))
export const continuationFrame = (stream: number): Buffer =>
  frame(CONTINUATION, 0, stream, headerBlock([['x', 'y'.repeat(100)]]))

interface ReceivedFrames {
  goaway: boolean
  /** Streams that were reset or answered. */
  ended: Set<number>
  pings: number
  pongs: number
}

/** A client of HTTP/2 that writes frames as it is told, and answers none by itself. */
export class RawHttp2 implements Disposable {
  readonly socket: Socket
  readonly heard: ReceivedFrames = { goaway: false, ended: new Set(), pings: 0, pongs: 0 }
  readonly closed: Promise<void>

  private constructor(socket: Socket) {
    this.socket = socket
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.closed = promise
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(undefined))
    let rest = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => (rest = this.#hear(Buffer.concat([rest, bytes]))))
  }

  /** Connects, and has said hello as every client does; `first` goes with that, in one piece. */
  static async to(
    port: number,
    localAddress = '127.0.0.1',
    first: Buffer = Buffer.alloc(0),
  ): Promise<RawHttp2> {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    await once(socket, 'connect')
    const raw = new RawHttp2(socket)
    socket.write(Buffer.concat([Buffer.from(PREFACE), settingsFrame(), frame(SETTINGS, ACK, 0), first]))
    return raw
  }

  /** Writes as fast as the other side takes it, until all is written or the connection is closed; true when it is. */
  async flood(frames: Iterable<Buffer>): Promise<boolean> {
    for (const bytes of frames) {
      if (this.socket.destroyed) return true
      if (this.socket.write(bytes)) continue
      const drained = new AbortController()
      await Promise.race([
        once(this.socket, 'drain', { signal: drained.signal }).catch(() => undefined),
        this.closed,
      ])
      drained.abort()
    }
    return this.socket.destroyed
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }

  /** Gives back what is not a whole frame yet. */
  #hear(bytes: Buffer): Buffer<ArrayBuffer> {
    let at = 0
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3)
      if (end > bytes.length) break
      const [type, flags, stream] = [bytes[at + 3], bytes[at + 4] ?? 0, bytes.readUInt32BE(at + 5)]
      if (type === GOAWAY) this.heard.goaway = true
      if (type === RST_STREAM || type === HEADERS) this.heard.ended.add(stream)
      if (type === PING) this.heard[(flags & ACK) === 0 ? 'pings' : 'pongs']++
      at = end
    }
    return Buffer.from(bytes.subarray(at))
  }
}
