import type { TLSSocket } from 'node:tls'

const ALTERNATIVE = /(?:^|, )[A-Za-z ]+:("(?:[^"\\]|\\.)*"|[^,]*)/g

/** The names in the certificate that the other side proved to have: its common name, then its alternative names. */
export function certificateNames(socket: TLSSocket): string[] | undefined {
  if (!socket.authorized) return undefined
  const { subject, subjectaltname } = socket.getPeerCertificate() as Partial<
    ReturnType<TLSSocket['getPeerCertificate']>
  >
  const common: string | string[] | undefined = subject?.CN
  const names = [common ?? []].flat()
  for (const [, written = ''] of (subjectaltname ?? '').matchAll(ALTERNATIVE)) {
    names.push(written.startsWith('"') ? (JSON.parse(written) as string) : written)
  }
  return names
}
