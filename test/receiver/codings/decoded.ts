import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { HTTP_CODINGS } from '../../../src/receiver/compression.ts'

/** What a body that comes in these parts is decoded to. Rejects when it is corrupt. */
export function decoded(coding: string, parts: readonly Buffer[]): Promise<Buffer> {
  const decompressor = HTTP_CODINGS[coding]?.()
  if (decompressor === undefined) throw new Error(`${coding} is no coding`)
  return buffer(Readable.from(parts, { objectMode: false }).pipe(decompressor))
}
