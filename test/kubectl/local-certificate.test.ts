import { createPrivateKey, X509Certificate } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { localCertificate } from '../../packages/kubectl/local-certificate.ts'

const DAY_MS = 86_400_000
/** Numbers of a certificate are random, and shorter where they begin with zeros. */
const MANY = 64
const NOW_MS = Date.UTC(2027, 1, 3, 4, 5, 6)

test('each certificate is signed by its own key, for 127.0.0.1 alone, from a day before', () => {
  const made = Array.from({ length: MANY }, () => localCertificate(NOW_MS))
  for (const { certificate, key } of made) {
    const read = new X509Certificate(certificate)
    expect(read.verify(read.publicKey)).toBe(true)
    expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true)
    expect(read.subjectAltName).toBe('IP Address:127.0.0.1')
    expect([read.ca, read.keyUsage]).toEqual([true, ['1.3.6.1.5.5.7.3.1']])
    expect(Date.parse(read.validFrom)).toBe(NOW_MS - DAY_MS)
    expect(Date.parse(read.validTo)).toBe(NOW_MS + 365 * DAY_MS)
  }
  expect(new Set(made.map(({ certificate }) => new X509Certificate(certificate).serialNumber)).size).toBe(
    MANY,
  )
})

/** Where a value in DER has a longer length than it takes: OpenSSL reads that, Go does not. */
function longLengths(bytes: Buffer): number[] {
  const found: number[] = []
  for (let at = 0; at < bytes.length;) {
    const tag = bytes[at] ?? 0
    const first = bytes[at + 1] ?? 0
    const octets = first > 128 ? first - 128 : 0
    const length = octets === 0 ? first : bytes.readUIntBE(at + 2, octets)
    if (octets > 0 && length < (octets === 1 ? 128 : 256)) found.push(length)
    const from = at + 2 + octets
    const isConstructed = (tag & 0x20) !== 0
    if (isConstructed) found.push(...longLengths(bytes.subarray(from, from + length)))
    at = from + length
  }
  return found
}

test('lengths are as short as DER has them', () => {
  expect(longLengths(new X509Certificate(localCertificate(NOW_MS).certificate).raw)).toEqual([])
})

test('a certificate is issued by itself, and by no other that is made in the same way', () => {
  const [one, other] = [localCertificate(NOW_MS), localCertificate(NOW_MS)].map(
    ({ certificate }) => new X509Certificate(certificate),
  )
  if (one === undefined || other === undefined) throw new Error('none was made')
  expect([one.checkIssued(one), one.verify(one.publicKey)]).toEqual([true, true])
  expect([one.checkIssued(other), one.verify(other.publicKey)]).toEqual([false, false])
})
