import type { IncomingMessage } from 'node:http'

const MIB = 1_048_576
/** Five times as long as an API server takes them. */
const MAX_HELD_BYTES = 16 * MIB
/** What is held only to be sent again, should the credential have run out. */
const SHORT_BYTES = MIB

interface HeldBody {
  readonly held: Buffer
  /** Where there is more than may be held: where it comes from. */
  readonly rest?: IncomingMessage
}

/** Reads a body to its end, or as far as it may be held. */
export async function heldOf(body: IncomingMessage): Promise<HeldBody> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > MAX_HELD_BYTES) return { held: Buffer.concat(pieces, bytes), rest: body }
  }
  return { held: Buffer.concat(pieces, bytes) }
}

/** Whether a request says that its body is short, or has none. */
export function isShort({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding === undefined && Number(length ?? 0) <= SHORT_BYTES
}
