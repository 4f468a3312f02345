import type { Metadata, status, StatusObject } from '@grpc/grpc-js'
import { GRPC_ACCEPT_ENCODING, GRPC_CODINGS } from '../../codings/codings.ts'
import { bareStatus, grpcStatusOf } from './grpc-status.ts'
import { NO_ROOM, type Reservation } from '../../admission/in-flight.ts'
import { ownValue } from '../../../model/own-value.ts'

/** A message that cannot be taken, with the status to answer with. */
export class NotTaken extends Error implements StatusObject {
  readonly code: status
  readonly details: string
  readonly metadata: Metadata

  constructor({ code, details, metadata }: StatusObject) {
    super(details)
    this.code = code
    this.details = details
    this.metadata = metadata
  }
}

/**
 * A gRPC message without its compression; what it grows to is counted while it grows. Rejects with NotTaken:
 * larger than `maxBytes`, no room, corrupt, or compressed in a way that is not known.
 */
export async function decompressCounted(
  message: Buffer,
  encoding: string,
  maxBytes: number,
  reservation: Reservation,
): Promise<Buffer> {
  if (encoding === 'identity') return message
  const decompressor = ownValue(GRPC_CODINGS, encoding)?.()
  if (decompressor === undefined) throw notKnown(encoding)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const parts: Buffer[] = []
  let length = 0
  const stop = (ending: StatusObject): void => {
    parts.length = 0
    decompressor.destroy()
    reject(new NotTaken(ending))
  }
  decompressor.on('error', () =>
    stop(grpcStatusOf({ kind: 'malformed', reason: 'the compressed message is corrupt' })),
  )
  decompressor.on('data', (part: Buffer) => {
    length += part.length
    if (length > maxBytes)
      stop(bareStatus('tooLarge', `the message decompresses to more than ${maxBytes} bytes`))
    else if (!reservation.take(part.length)) stop(grpcStatusOf(NO_ROOM))
    else parts.push(part)
  })
  decompressor.on('end', () => resolve(Buffer.concat(parts, length)))
  decompressor.end(message)
  return promise
}

/** As gRPC asks for it (compression.md): with what would have been taken. */
function notKnown(encoding: string): NotTaken {
  const details = `the message is compressed with ${encoding}; use one of ${GRPC_ACCEPT_ENCODING}`
  const ending = bareStatus('unknownCoding', details)
  ending.metadata.set('grpc-accept-encoding', GRPC_ACCEPT_ENCODING)
  return new NotTaken(ending)
}
