import fc from 'fast-check'
import type { LinkedSpan } from '../../src/model/queries.ts'
import { linkedSpan } from './linked-span.ts'

/** Up to a dozen spans with any parents, loops and missing ones among them, and any times. */
export function anyTrace(): fc.Arbitrary<LinkedSpan[]> {
  const id = fc.integer({ min: 0, max: 12 })
  const time = fc.integer({ min: 0, max: 40 })
  return fc
    .array(fc.tuple(fc.integer({ min: 1, max: 12 }), id, time, time, fc.boolean(), fc.boolean()), {
      maxLength: 12,
    })
    .map((drawn) =>
      drawn.map(([span, parent, start, length, byCause, isOwn], at) =>
        linkedSpan(span, parent, {
          startNs: BigInt(start),
          endNs: BigInt(start + length - 5),
          byCause,
          row: isOwn ? undefined : at + 1,
        }),
      ),
    )
}
