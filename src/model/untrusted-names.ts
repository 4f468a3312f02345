import { isIP } from 'node:net'

/** The value under a name from outside; undefined where nobody put one there, as under "constructor". */
export function ownValue<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  // eslint-disable-next-line causeway/no-lookup-by-name -- this is what asks first
  return Object.hasOwn(of, name) ? of[name] : undefined
}

/** Whether a text fits a pattern, in which a `*` stands for any characters. */
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

/** Whether nobody but this machine can reach what listens here. An empty host is every address. */
export function isLoopback(host: string): boolean {
  const bare = bareHost(host)
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'))
}

/** The name in a Host header or an origin, without port and brackets, in lower case. */
export function bareHost(written: string): string {
  const text = written.toLowerCase()
  const [, bracketed] = /^\[([^\]]*)\](?::\d*)?$/.exec(text) ?? []
  if (bracketed !== undefined) return bracketed
  return isIP(text) === 6 ? text : text.replace(/:\d*$/, '').replace(/\.$/, '')
}

/**
 * Characters that command a terminal, or that have a text read as another, such as U+202E. Senders choose names, and may choose
 * these.
 */
export const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** JSON as others may write it too, without characters that command a terminal. The ends of lines between its values stay. */
export function plainJson(json: string): string {
  return json.replaceAll(CONTROLS, (character) => (character === '\n' ? character : escaped(character)))
}

/** A character beyond the first 65,536 is two. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
