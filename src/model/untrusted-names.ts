import { isIP } from 'node:net'

/** The own property of an object under a name from outside; undefined for inherited ones such as "constructor". */
export function ownValue<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  // eslint-disable-next-line causeway/no-lookup-by-name -- this is what asks first
  return Object.hasOwn(of, name) ? of[name] : undefined
}

/** Whether a text matches a pattern, in which `*` matches any characters. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= end
}

export const matchesOnePattern = (patterns: readonly string[], text: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, text))

/** Whether only this machine can connect to a listener on this host. An empty host is any address. */
export function isLoopback(host: string): boolean {
  const bare = bareHost(host)
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'))
}

/** The host in a Host header or an origin: without port and brackets, in lower case. */
export function bareHost(written: string): string {
  const text = written.toLowerCase()
  const [, bracketed] = /^\[([^\]]*)\](?::\d*)?$/.exec(text) ?? []
  if (bracketed !== undefined) return bracketed
  return isIP(text) === 6 ? text : text.replace(/:\d*$/, '').replace(/\.$/, '')
}

/** Control and format characters, which may command a terminal or disguise a text, such as U+202E. Senders can put them into names. */
export const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** JSON without control characters: they are escaped, except line breaks between values. */
export function plainJson(json: string): string {
  return json.replaceAll(CONTROLS, (character) => (character === '\n' ? character : escaped(character)))
}

/** A character beyond U+FFFF is escaped as two surrogates. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
