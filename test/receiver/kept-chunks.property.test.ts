import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { KeptChunks } from '../../src/receiver/request-body.ts'

const length = fc.oneof(fc.constantFrom(0, 1, 1023, 1024, 1025, 4096), fc.nat(3), fc.nat(5_000))

test('all bytes are kept in their order, and in few chunks', () => {
  fc.assert(
    fc.property(fc.array(length, { maxLength: 300 }), (lengths) => {
      const kept = new KeptChunks()
      const chunks = lengths.map((bytes, at) => Buffer.alloc(bytes, at))
      for (const chunk of chunks) kept.add(Buffer.from(chunk))
      const whole = Buffer.concat(chunks)
      expect(Buffer.concat(kept.all())).toEqual(whole)
      // Each is large, stands before a large one, or fills most of a block.
      const large = lengths.filter((bytes) => bytes >= 1024).length
      expect(kept.all().length).toBeLessThanOrEqual(2 * large + whole.length / 1536 + 1)
      kept.clear()
      expect(kept.all()).toEqual([])
    }),
  )
})

test('a body of single bytes holds little more than these', () => {
  const kept = new KeptChunks()
  for (let at = 0; at < 100_000; at++) kept.add(Buffer.from([at]))
  const held = new Set(kept.all().map(({ buffer }) => buffer))
  expect(kept.all().length).toBeLessThan(100)
  expect([...held].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(110_000)
})
