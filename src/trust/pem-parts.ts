import type { NamedFile } from './followed-files.ts'

/** One piece of PEM, written in the configuration or named there. */
export interface PemPart {
  name: 'ca' | 'cert' | 'key'
  setting: string
  pem?: string | undefined
  file?: string | undefined
}

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/

/** The files among the pieces. */
export function filesOf(parts: readonly PemPart[]): NamedFile[] {
  return parts.flatMap(({ setting, pem, file }) =>
    pem === undefined && file !== undefined ? [{ setting, path: file }] : [],
  )
}

/** Every piece there is, by name; `contents` are those of the files, in order. Throws where an authority has no certificate. */
export function assemble(
  parts: readonly PemPart[],
  contents: readonly Buffer[],
): Partial<Record<PemPart['name'], Buffer>> {
  const left = contents[Symbol.iterator]()
  const found: Partial<Record<PemPart['name'], Buffer>> = {}
  for (const { name, setting, pem, file } of parts) {
    const bytes = pem === undefined ? (file === undefined ? undefined : left.next().value) : Buffer.from(pem)
    if (bytes === undefined) continue
    // OpenSSL takes such a file for no authority at all, and then trusts nobody without a word.
    if (name === 'ca' && !CERTIFICATE.test(bytes.toString('latin1')))
      throw new Error(
        `${setting}${file === undefined ? '' : ` ${file}`} has no certificate in it; give one or more in PEM form`,
      )
    found[name] = bytes
  }
  return found
}
