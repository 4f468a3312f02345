import { isIP } from 'node:net'

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

/** Whether a name fits a pattern, in which a `*` stands for any characters. Letter case does not count. */
export function fitsPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.toLowerCase().split('*')
  const text = name.toLowerCase()
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
