import type { LinkedSpan } from '../../src/model/queries.ts'

/** A span of a trace; its row is its id. */
export function linkedSpan(spanId: number, parentId: number, rest: Partial<LinkedSpan> = {}): LinkedSpan {
  return {
    decision: spanId,
    spanId: BigInt(spanId),
    parentId: BigInt(parentId),
    name: `span ${spanId}`,
    service: 'service',
    startNs: BigInt(spanId),
    endNs: BigInt(spanId + 1),
    cpid: undefined,
    kind: 1,
    status: 0,
    row: spanId,
    copy: false,
    activity: true,
    byCause: false,
    observed: [],
    wrote: [],
    ...rest,
  }
}
