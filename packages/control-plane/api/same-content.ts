/** Whether two values would be written alike in JSON, but for the order of keys: what is undefined counts as absent. */
export function hasSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (!isContainer(one) || !isContainer(other) || Array.isArray(one) !== Array.isArray(other)) return false
  for (const key in one) if (!hasSame(one[key], other[key])) return false
  for (const key in other) if (other[key] !== undefined && one[key] === undefined) return false
  return true
}

export function withoutStatus<T extends { status?: object | undefined }>(object: T): Omit<T, 'status'> {
  const rest = { ...object }
  delete rest.status
  return rest
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
