import type { Json } from './json-access.ts'

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b]
/** So many values any text may hold, and one more for every so many bytes: what the fields of an object are managed by takes twice as many. */
const FREE_VALUES = 100_000
const BYTES_A_VALUE = 4

/**
 * What a JSON text says. Throws when it is no JSON, and before anything is made of it when it holds more values than its length
 * allows: empty ones take twenty times as many bytes in memory.
 */
export function parseBounded(text: Buffer): Json {
  const most = FREE_VALUES + Math.floor(text.length / BYTES_A_VALUE)
  // A shorter text cannot hold more.
  if (text.length > FREE_VALUES) refuseTooMany(text, most)
  return JSON.parse(text.toString('utf8')) as Json
}

/** Each value but the first of a list or an object comes after a comma, and lists and objects begin with a bracket or a brace. */
function refuseTooMany(text: Buffer, most: number): void {
  let values = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (isText) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) values++
  }
  if (values > most)
    throw new RangeError(
      `its ${text.length} bytes hold ${values} values, most of them nearly empty, and ${most} are taken; send fewer in one`,
    )
}
