import { connect } from 'node:http2'
import { EXPORT_METHODS } from '../../../lab/harness/export-methods.ts'

/** Sends one long message over each of many connections, all at the same time, and ends when all are answered. */
const [port = '', connections = '', mebibytes = ''] = process.argv.slice(2)
const PREFIX_BYTES = 5
const body = Buffer.alloc(PREFIX_BYTES + Number(mebibytes) * 2 ** 20)
body.writeUInt32BE(body.length - PREFIX_BYTES, 1)

function send(): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const session = connect(`http://127.0.0.1:${port}`).on('error', () => undefined)
  const headers = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' }
  const stream = session.request({ ...headers, ':path': EXPORT_METHODS.traces.path })
  stream.on('error', () => undefined).on('close', () => session.close(() => resolve(undefined)))
  stream.resume().end(body)
  return promise
}

await Promise.all(Array.from({ length: Number(connections) }, send))
