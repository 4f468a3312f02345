import { once } from 'node:events'
import { connect } from 'node:http2'

/** Sends one gRPC message exactly as given over HTTP/2 and returns the final status. */
export async function sendRawGrpc(
  port: number,
  { path, encoding, payload }: { path: string; encoding: string; payload: Uint8Array },
): Promise<{ code: number; message: string; accepts: string | undefined }> {
  const session = connect(`http://127.0.0.1:${port}`)
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    'grpc-encoding': encoding,
    te: 'trailers',
  })
  const header = Buffer.from([1, 0, 0, 0, 0])
  header.writeUInt32BE(payload.length, 1)
  stream.end(Buffer.concat([header, payload]))
  const [headers] = (await once(stream, 'response')) as [Record<string, string>]
  const isOver = headers['grpc-status'] !== undefined
  const [trailers] = isOver
    ? [headers]
    : ((await once(stream.resume(), 'trailers')) as [Record<string, string>])
  stream.close()
  session.close()
  const { 'grpc-status': code, 'grpc-message': message = '' } = trailers
  return { code: Number(code), message: decodeURI(message), accepts: headers['grpc-accept-encoding'] }
}
