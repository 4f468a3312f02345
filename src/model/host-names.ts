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
