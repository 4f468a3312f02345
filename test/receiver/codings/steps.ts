import fc from 'fast-check'

/** A step of what is compressed: bytes as they are, then `length` bytes again from `back` bytes before. */
export interface Step {
  literal: Buffer
  back: number
  length: number
}

/** What the steps mean, worked out byte by byte. */
export function meaningOf(steps: readonly Step[]): Buffer {
  const bytes = Buffer.alloc(steps.reduce((sum, { literal, length }) => sum + literal.length + length, 0))
  let at = 0
  for (const { literal, back, length } of steps) {
    at += literal.copy(bytes, at)
    for (let i = 0; i < length; i++, at++) bytes[at] = bytes[at - back] ?? 0
  }
  return bytes
}

const LENGTHS = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 4, max: 80 }) },
  { weight: 2, arbitrary: fc.integer({ min: 4, max: 1_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 60_000, max: 100_000 }) },
)
const DRAWN = fc.record({
  literal: fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  back: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
  length: LENGTHS,
})

/** Steps that repeat nothing from more than `farthest` bytes back. */
export function stepsArbitrary(farthest: number): fc.Arbitrary<Step[]> {
  return fc.array(DRAWN, { minLength: 1, maxLength: 8 }).map((drawn) => {
    let made = 0
    return drawn.map(({ literal, back, length }) => {
      made += literal.length
      const step = { literal, back: ((back - 1) % Math.min(made, farthest)) + 1, length }
      made += length
      return step
    })
  })
}

/** Bytes in parts, cut at these places. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const within = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b)
  return [...within, bytes.length].map((end, at) => bytes.subarray(within[at - 1] ?? 0, end))
}
