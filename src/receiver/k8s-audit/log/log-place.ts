import { isObject, numberIn, textIn, type Json } from '../../../kubernetes/json-access.ts'

/** How much of a log's beginning it is known by. */
const PRINT_BYTES = 1_024

/** How far a log was read: in which file, known by its number on the disk and how it begins, and how many bytes of it. */
export interface LogPlace {
  readonly inode: string
  readonly offset: number
  readonly print: LogPrint
}

/** The fingerprint of the first bytes of a file, as many as were read of it when it was taken. */
export interface LogPrint {
  readonly bytes: number
  readonly hash: string
}

/** Of how many bytes the fingerprint is of a file of which so many were read. */
export const printLength = (offset: number): number => Math.min(offset, PRINT_BYTES)

export function placeText(place: LogPlace): string {
  return JSON.stringify(place)
}

/** Undefined when the text is no such place. */
export function readPlace(text: string): LogPlace | undefined {
  let place: Json
  try {
    place = JSON.parse(text) as Json
  } catch {
    return undefined
  }
  if (!isObject(place) || !isObject(place.print)) return undefined
  const [inode, offset] = [textIn(place, 'inode'), numberIn(place, 'offset')]
  const print = { bytes: numberIn(place.print, 'bytes'), hash: textIn(place.print, 'hash') }
  const isSound = inode !== '' && Number.isSafeInteger(offset) && offset >= 0 && print.bytes <= PRINT_BYTES
  return isSound ? { inode, offset, print } : undefined
}
