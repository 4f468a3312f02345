/** A password as a line of an htpasswd file keeps it. */
export type KeptPassword = { kind: 'plain'; password: string } | { kind: 'bcrypt'; hash: string }

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const OTHER_HASH = /^(?:\$|\{(?:SHA|SSHA|SHA256|SHA512)\})/i
/** Each step doubles the time that a check takes; this one is about a second. */
const MAX_BCRYPT_COST = 14
/** Of longer ones bcrypt looks at the beginning only. */
const MAX_PASSWORD_BYTES = 72

/**
 * Reads `user:password` lines, where the password is a bcrypt hash (`htpasswd -B`) or plain text; a later line for the same
 * user counts. A sentence about the first line that cannot be used, without what it holds.
 */
export function readHtpasswd(text: string): Map<string, KeptPassword> | string {
  const users = new Map<string, KeptPassword>()
  for (const [at, written] of text.split('\n').entries()) {
    const line = written.trim()
    if (line === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    if (colon <= 0) return `line ${at + 1} is not user:password`
    const kept = readPassword(line.slice(colon + 1))
    if (typeof kept === 'string') return `line ${at + 1}: ${kept}`
    users.set(line.slice(0, colon), kept)
  }
  return users
}

function readPassword(text: string): KeptPassword | string {
  if (text === '') return 'the password is empty'
  const cost = BCRYPT.exec(text)?.[1]
  if (cost !== undefined) {
    return Number(cost) > MAX_BCRYPT_COST
      ? `a bcrypt cost of ${Number(cost)} takes too long to check; make it ${MAX_BCRYPT_COST} at most`
      : { kind: 'bcrypt', hash: text }
  }
  if (OTHER_HASH.test(text))
    return 'this kind of password hash is not supported; make one with htpasswd -B (bcrypt)'
  return Buffer.byteLength(text) > MAX_PASSWORD_BYTES
    ? `the password is longer than ${MAX_PASSWORD_BYTES} bytes, and bcrypt would take the first ${MAX_PASSWORD_BYTES} for all of it; write a shorter one`
    : { kind: 'plain', password: text }
}
