import { Server, ServerCredentials } from '@grpc/grpc-js'
import { EXPORT_METHODS } from '../../harness/export-methods.ts'

const LARGEST_REQUEST = 64 * 1024 * 1024
const NOTHING = Buffer.alloc(0)

/** Takes traces over gRPC and answers success once `take` is done with a request, then does `afterwards`. */
export function serveTraces(
  take: (request: Buffer) => void,
  afterwards: () => void,
  onReady: (port: number) => void,
): void {
  const server = new Server({ 'grpc.max_receive_message_length': LARGEST_REQUEST })
  server.addService(
    { export: EXPORT_METHODS.traces },
    {
      export: (call: { request: Buffer }, answer: (error: null, reply: Buffer) => void) => {
        take(call.request)
        answer(null, NOTHING)
        afterwards()
      },
    },
  )
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
    if (error !== null) throw error
    onReady(port)
  })
}
