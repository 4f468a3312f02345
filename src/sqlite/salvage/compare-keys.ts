/** -1, 0 or 1 as SQLite orders keys: null, then numbers, then text, then bytes (sqlite.org/datatype3.html, section 4.1). */
export function compareKeys(one: readonly unknown[], other: readonly unknown[]): number {
  for (const [at, value] of one.entries()) {
    const order = compareValues(value, other[at])
    if (order !== 0) return order
  }
  return 0
}

function compareValues(one: unknown, other: unknown): number {
  const rank = rankOf(one) - rankOf(other)
  if (rank !== 0) return Math.sign(rank)
  if (isNumber(one) && isNumber(other)) return one < other ? -1 : one > other ? 1 : 0
  if (typeof one === 'string' && typeof other === 'string')
    return Buffer.compare(Buffer.from(one), Buffer.from(other))
  return Buffer.isBuffer(one) && Buffer.isBuffer(other) ? Buffer.compare(one, other) : 0
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

function rankOf(value: unknown): number {
  if (value === null || value === undefined) return 0
  if (isNumber(value)) return 1
  return typeof value === 'string' ? 2 : 3
}
