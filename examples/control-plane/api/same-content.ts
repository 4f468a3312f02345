import { isDeepStrictEqual } from 'node:util'

/** Whether two values would be written alike in JSON: what is undefined counts as absent. */
export function hasSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(asWritten(one), asWritten(other))
}

export function withoutStatus<T extends { status?: object | undefined }>(object: T): Omit<T, 'status'> {
  const rest = { ...object }
  delete rest.status
  return rest
}

function asWritten(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
}
