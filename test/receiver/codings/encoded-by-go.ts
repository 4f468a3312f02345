import { readFileSync } from 'node:fs'

/** What the libraries that the Collector compresses with (golang/snappy, pierrec/lz4, klauspost/compress) made. */
interface Encoded {
  /** The name of the coding, and after a comma what is special about it. */
  coding: string
  content: string
  plain: Buffer
  bytes: Buffer
}

interface Vector {
  coding: string
  content: keyof typeof CONTENTS
  base64: string
}

const VECTORS = new URL('encoded-by-go.json', import.meta.url)

const CONTENTS = {
  empty: () => Buffer.alloc(0),
  text: () => Buffer.from('resource spans, scope spans, spans; resource spans, scope spans, spans'),
  random: () => Buffer.from(random(500)),
  /** A phrase again and again, with a mark in between. */
  repeats: () => {
    const next = shifting()
    const phrase = random(40, next)
    const bytes: number[] = []
    while (bytes.length < 70_000) {
      bytes.push(...phrase)
      if (bytes.length % 4000 === 0) bytes.push(next())
    }
    return Buffer.from(bytes).subarray(0, 70_000)
  },
  /** What comes again, comes again from almost as far back as LZ4 reaches. */
  far: () => {
    const mark = Buffer.from(random(100))
    const zeros = Buffer.alloc(60_000)
    return Buffer.concat([mark, zeros, mark, zeros, mark])
  },
}

export const ENCODED: readonly Encoded[] = (JSON.parse(readFileSync(VECTORS, 'utf8')) as Vector[]).map(
  ({ coding, content, base64 }) => ({
    coding,
    content,
    plain: CONTENTS[content](),
    bytes: Buffer.from(base64, 'base64'),
  }),
)

/** Bytes of Marsaglia's xorshift, the same in every run and language. */
function shifting(): () => number {
  let state = 2463534242
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 0xff
  }
}

function random(length: number, next = shifting()): number[] {
  return Array.from({ length }, next)
}
