const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/

/** The trace and span that a W3C `traceparent` names; undefined when it is none. */
export function readTraceparent(text: string): { traceId: Buffer; spanId: bigint } | undefined {
  const [, trace = '', span = ''] = TRACEPARENT.exec(text) ?? []
  if (/^0*$/.test(trace) || /^0*$/.test(span)) return undefined
  return { traceId: Buffer.from(trace, 'hex'), spanId: Buffer.from(span, 'hex').readBigInt64BE(0) }
}
