import { parseCpid } from '../cpid.ts'

/** The length of a CPID in canonical text. */
const CPID_LENGTH = 36
const LONGEST_CPID = 64
const DASH = 45
const NIL = '00000000-0000-0000-0000-000000000000'

/** 1 for the character codes of hexadecimal digits in lower case: a table is three times as fast as a pattern. */
const IS_DIGIT = Uint8Array.from({ length: 128 }, (_, code) =>
  '0123456789abcdef'.includes(String.fromCharCode(code)) ? 1 : 0,
)

/** Reads a CPID in any case, with or without dashes, with blanks around it, into canonical text; undefined if invalid. */
export function readCpid(text: string): string | undefined {
  return readCpidAt(text, 0, text.length)
}

/** The same for part of a text, from `start` to before `end`. */
export function readCpidAt(text: string, start: number, end: number): string | undefined {
  if (end - start > LONGEST_CPID) return undefined
  const part = text.slice(start, end)
  if (part.length === CPID_LENGTH && isCanonicalAt(text, start)) return part === NIL ? undefined : part
  return parseCpid(part.trim())
}

function isCanonicalAt(text: string, start: number): boolean {
  return (
    text.charCodeAt(start + 8) === DASH &&
    text.charCodeAt(start + 13) === DASH &&
    text.charCodeAt(start + 18) === DASH &&
    text.charCodeAt(start + 23) === DASH &&
    areDigits(text, start, start + 8) &&
    areDigits(text, start + 9, start + 13) &&
    areDigits(text, start + 14, start + 18) &&
    areDigits(text, start + 19, start + 23) &&
    areDigits(text, start + 24, start + CPID_LENGTH)
  )
}

function areDigits(text: string, start: number, end: number): boolean {
  let are = 1
  for (let at = start; at < end; at++) are &= IS_DIGIT[text.charCodeAt(at)] ?? 0
  return are === 1
}
