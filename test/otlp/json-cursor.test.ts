import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { JsonCursor } from '../../src/model/otlp/json-cursor.ts'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function isWalkable(text: string): boolean {
  try {
    const cursor = new JsonCursor(Buffer.from(text))
    cursor.skip()
    cursor.finish()
    return true
  } catch (error) {
    expect(error).toHaveProperty('name', 'MalformedOtlp')
    return false
  }
}

/** Fragments of JSON put together at random: sometimes JSON, mostly almost. */
const nearlyJson = fc
  .array(
    fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', '"', '"a"', '"\\n"', '"\\u00e9"', '\\', '\n', ' ', '\u0001'],
      ...[
        '0',
        '-',
        '1',
        '01',
        '1.5',
        '1.',
        '.5',
        '1e9',
        '1e',
        '-0',
        '+1',
        'true',
        'tru',
        'false',
        'null',
        'é',
      ],
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))

test('takes exactly the texts that JSON.parse takes', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), nearlyJson), (text) => isWalkable(text) === isJson(text)),
    {
      numRuns: 5000,
    },
  )
})

test('reads strings as JSON.parse does, a lone surrogate as U+FFFD', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const cursor = new JsonCursor(Buffer.from(JSON.stringify(text)))
      cursor.string()
      expect(cursor.lastString).toBe(text.toWellFormed())
    }),
  )
})

const NEARLY_INTEGERS = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 66n }).map(String),
  fc.tuple(fc.nat(66), fc.constantFrom(-1n, 0n, 1n)).map(([bits, more]) => String(2n ** BigInt(bits) + more)),
  fc.stringMatching(/^[-0-9.e]{0,22}$/),
)

test('an integer is read as BigInt reads it, if it is written plainly', () => {
  fc.assert(
    fc.property(NEARLY_INTEGERS, fc.constantFrom(31, 32, 63, 64), fc.boolean(), (digits, bits, isQuoted) => {
      const cursor = new JsonCursor(Buffer.from(isQuoted ? ` "${digits}" ` : ` ${digits} `))
      const isPlain =
        /^[0-9]{1,19}$/.test(digits) &&
        (isQuoted || !/^0./.test(digits)) &&
        BigInt(digits) < 2n ** BigInt(bits)
      expect(cursor.integer(bits, true)).toBe(isPlain)
      if (isPlain) {
        expect(BigInt(cursor.high) * 2n ** 32n + BigInt(cursor.low)).toBe(BigInt(digits))
        cursor.finish()
      } else if (isQuoted) {
        cursor.string()
        expect(cursor.lastString).toBe(digits)
      }
      if (isQuoted) expect(new JsonCursor(Buffer.from(`"${digits}"`)).integer(bits, false)).toBe(false)
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['', 'ends too early'],
  ['{"a":', 'ends too early'],
  ['"open', 'ends too early'],
  ['{"a" 1}', "unexpected '1' at byte 5"],
  ['[1 2]', "unexpected '2' at byte 3"],
  ['"\u0001"', 'unexpected 0x1 at byte 1'],
  ['"\\x"', 'bad escape in the string at byte 1'],
  ['['.repeat(100_000), 'nested too deep'],
])('%j is refused: %s', (text, reason) => {
  expect(() => {
    new JsonCursor(Buffer.from(text)).skip()
  }).toThrow(reason)
})

test('text that is not UTF-8 is refused', () => {
  expect(() => new JsonCursor(Buffer.from([0x22, 0xff, 0x22]))).toThrow('not valid UTF-8')
})
