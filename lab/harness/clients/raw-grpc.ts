import { once } from 'node:events'
import { connect } from 'node:http2'

/** Sends one gRPC message exactly as given over HTTP/2 and returns the final status. */
export async function sendRawGrpc(
  port: number,
  { path, encoding, payload }: { path: string; encoding: string; payload: Uint8Array },
): Promise<{ code: number; message: string; accepts: string | undefined }> {
  const session = connect(`http://127.0.0.1:${port}`)
  // The stream fails with it, which is reported below.
  session.on('error', () => undefined)
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    'grpc-encoding': encoding,
    te: 'trailers',
  })
  const header = Buffer.from([1, 0, 0, 0, 0])
  header.writeUInt32BE(payload.length, 1)
  const closed = once(stream, 'close').then(() =>
    Promise.reject(new Error('the stream ended without an answer')),
  )
  const first = async (event: string): Promise<Record<string, string>> => {
    const [headers] = (await Promise.race([once(stream, event), closed])) as [Record<string, string>]
    return headers
  }
  try {
    stream.end(Buffer.concat([header, payload]))
    const headers = await first('response')
    const isOver = headers['grpc-status'] !== undefined
    const trailers = isOver ? headers : (stream.resume(), await first('trailers'))
    const { 'grpc-status': code, 'grpc-message': message = '' } = trailers
    return { code: Number(code), message: decodeURI(message), accepts: headers['grpc-accept-encoding'] }
  } finally {
    closed.catch(() => undefined)
    session.destroy()
  }
}
