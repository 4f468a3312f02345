import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Authority } from '../../lab/harness/certificates.ts'
import { DEFAULT_CLIENT_TLS, openClientTls, openServerTls } from '../../src/platform/tls.ts'

const directory = mkdtempSync(join(tmpdir(), 'causeway-authorities-'))
const file = join(directory, 'authorities.pem')
afterAll(() => rmSync(directory, { recursive: true }))

const UNUSABLE = /^tls::ca_file .*authorities\.pem .*PEM form/
const BEGIN = '-----BEGIN '
const [one, other] = [new Authority('one'), new Authority('other')]
const { cert: certPem, key: keyPem } = one.issue()
/** Bundles have notes between their certificates, and may hold other things. */
const KEY = keyPem.replaceAll('PRIVATE KEY', 'OTHER THING')
const bundle = `# One\n${one.cert}${KEY}# The other\r\n${other.cert.replaceAll('\n', '\r\n')}`

function open(content: string): void {
  writeFileSync(file, content)
  openClientTls({ ...DEFAULT_CLIENT_TLS, caFile: file })
  openServerTls('receiver otlp', { certPem, keyPem, clientCaFile: file })
}

test('whole certificates with text around them are taken', () => {
  open(bundle)
  open(one.cert.replaceAll('CERTIFICATE', 'X509 CERTIFICATE'))
})

test('authorities that were cut in a certificate, as while somebody writes the file, are not taken for fewer', () => {
  // What is no certificate may be cut.
  const isCut = (text: string): boolean => {
    const last = text.split(BEGIN).at(-1) ?? ''
    return !text.includes(BEGIN) || !/^OTHER THING-|-----END [A-Z ]+-----/.test(last)
  }
  const cut = fc
    .nat(bundle.length - 1)
    .map((end) => bundle.slice(0, end))
    .filter(isCut)
  fc.assert(
    fc.property(cut, (text) => {
      expect(() => open(text)).toThrow(UNUSABLE)
    }),
  )
})

test('an authority with damage in a certificate is refused, whatever stands beside it', () => {
  const middle = bundle.indexOf(other.cert.split('\n')[2] ?? '')
  fc.assert(
    fc.property(fc.constantFrom('!', '\u0000', '-'), fc.nat(40), (wrong, at) => {
      const place = middle + at
      expect(() => open(bundle.slice(0, place) + wrong + bundle.slice(place + 1))).toThrow(UNUSABLE)
    }),
  )
})
