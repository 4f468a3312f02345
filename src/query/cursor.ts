import type { Position } from '../model/ports/query-port.ts'

const CURSOR = /^-?\d{1,19}(?:\.-?\d{1,19})*$/
const MAX = 2n ** 63n - 1n

/** A position as the text that callers hand back; what is in it is none of their business. */
export function cursorOf(position: Position): string {
  return position.join('.')
}

/** The position that a cursor names; undefined when it is none with that many parts. */
export function positionOf(cursor: string, parts: number): Position | undefined {
  if (!CURSOR.test(cursor)) return undefined
  const position = cursor.split('.').map(BigInt)
  const fits = position.length === parts && position.every((part) => part <= MAX && part >= -MAX - 1n)
  return fits ? position : undefined
}
