import fc from 'fast-check'
import {
  dataFrame,
  frame,
  GRPC_PATHS,
  headerBlock,
  resetFrame,
  settingsFrame,
} from '../../lab/harness/clients/raw-http2.ts'

const MOST_TIMES = 150
const FLAGS = [0, 1, 4, 5, 5, 4]
const HEADERS = 1
/** Of each of them a server gets a few that are wrong. */
const TYPES = [2, 3, 4, 5, 6, 7, 8, 9, 10, 66]

const fields = fc.record({
  method: fc.constantFrom('POST', 'POST', 'GET', 'CONNECT', 'PRI'),
  path: fc.constantFrom(...Object.values(GRPC_PATHS), '/x/y', '*', ''),
  type: fc.constantFrom('application/grpc', 'application/grpc', 'text/plain', undefined),
  more: fc.constantFrom(undefined, ['grpc-timeout', 'soon'], ['grpc-encoding', 'zip'], ['Upper', 'x']),
})

const headers = fc
  .record({ fields, flags: fc.constantFrom(...FLAGS) })
  .map(({ fields: { method, path, type, more }, flags }) => {
    const block = headerBlock([
      [':method', method],
      [':authority', 'x'],
      ...(method === 'CONNECT' ? [] : ([[':scheme', 'http'] as const, [':path', path] as const] as const)),
      ...(type === undefined ? [] : [['content-type', type] as const]),
      ...(more === undefined ? [] : [more as [string, string]]),
    ])
    return (stream: number): Buffer => frame(HEADERS, flags, stream, block)
  })

const others = fc.oneof(
  fc.constant(resetFrame),
  fc.tuple(fc.uint8Array({ maxLength: 20 }), fc.boolean()).map(
    ([bytes, isLast]) =>
      (stream: number): Buffer =>
        dataFrame(stream, Buffer.from(bytes), isLast),
  ),
  fc.constant((): Buffer => settingsFrame()),
  fc
    .tuple(fc.constantFrom(...TYPES), fc.constantFrom(0, 1, 4), fc.uint8Array({ maxLength: 9 }), fc.boolean())
    .map(
      ([type, flags, payload, isOfStream]) =>
        (stream: number): Buffer =>
          frame(type, flags, isOfStream ? stream : 0, Buffer.from(payload)),
    ),
)

/** What a client of HTTP/2 may send: calls of all kinds, each on a stream of its own, and what may come with and after them. */
export const drawnFrames: fc.Arbitrary<Buffer> = fc
  .array(
    fc.record({
      call: headers,
      then: fc.array(others, { maxLength: 2 }),
      times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: MOST_TIMES })),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((parts) => {
    let stream = -1
    return Buffer.concat(
      parts.flatMap(({ call, then, times }) =>
        Array.from({ length: times }, () => {
          stream += 2
          return Buffer.concat([call(stream), ...then.map((one) => one(stream))])
        }),
      ),
    )
  })
