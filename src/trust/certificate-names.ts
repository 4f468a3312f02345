import type { TLSSocket } from 'node:tls'

const ALTERNATIVE = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g
/** What Node calls the kinds of names that a rule can ask for. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['DNS', 'dns'],
  ['URI', 'uri'],
  ['email', 'email'],
  ['IP Address', 'ip'],
])

/**
 * The names in the certificate that the other side proved to have, each with its kind before it (`cn:`, `dns:`, `uri:`,
 * `email:`, `ip:`, `other:`): its common name, then its alternative names.
 */
export function certificateNames(socket: TLSSocket): string[] | undefined {
  if (!socket.authorized) return undefined
  const { subject, subjectaltname } = socket.getPeerCertificate() as Partial<
    ReturnType<TLSSocket['getPeerCertificate']>
  >
  const common: string | string[] | undefined = subject?.CN
  const names = [common ?? []].flat().map((name) => `cn:${name}`)
  for (const [, kind = '', written = ''] of (subjectaltname ?? '').matchAll(ALTERNATIVE)) {
    const name = written.startsWith('"') ? (JSON.parse(written) as string) : written
    names.push(`${KINDS.get(kind) ?? 'other'}:${name}`)
  }
  return names
}
