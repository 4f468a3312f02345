/** A change propagation ID: a UUID naming the change an object's state came from. Lower case, dashed. */
export type Cpid = string & { readonly kind: 'Cpid' }

/** How a CPID begins: at least eight digits in lower case, dashed as a whole one is. */
export type CpidPrefix = string & { readonly kind: 'CpidPrefix' }

const LEAST_DIGITS = 8
const ALL_DIGITS = 32
const DIGITS = /^[0-9a-f]+$/
const DASHED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const BARE = /^[0-9a-f]{32}$/
const NIL = '00000000-0000-0000-0000-000000000000'

/** Reads a CPID in any case, with or without dashes; undefined when it is not a UUID or is all zeros. */
export function parseCpid(text: string): Cpid | undefined {
  const lower = text.toLowerCase()
  const dashed = DASHED.test(lower) ? lower : BARE.test(lower) ? dash(lower) : undefined
  return dashed === undefined || dashed === NIL ? undefined : (dashed as Cpid)
}

/** Reads the beginning of a CPID as `parseCpid` reads a whole one; undefined when it is none, or shorter than eight digits. */
export function parseCpidPrefix(text: string): CpidPrefix | undefined {
  const lower = text.toLowerCase()
  const digits = lower.replaceAll('-', '')
  if (digits.length < LEAST_DIGITS || digits.length >= ALL_DIGITS || !DIGITS.test(digits)) return undefined
  const dashed = dash(digits).replace(/-+$/, '')
  const isWritten = lower === digits || lower === dashed || lower === `${dashed}-`
  return isWritten ? (dashed as CpidPrefix) : undefined
}

/** The 16 bytes of a CPID, which are also the W3C trace id of its trace. */
export function cpidBytes(cpid: Cpid): Buffer {
  return Buffer.from(cpid.replaceAll('-', ''), 'hex')
}

/** The CPID whose 16 bytes these are. */
export function cpidOfBytes(bytes: Uint8Array): Cpid {
  return dash(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')) as Cpid
}

/** The CPID with these 32 lower-case hex digits. */
export function cpidOfDigits(digits: string): Cpid {
  return dash(digits) as Cpid
}

function dash(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
