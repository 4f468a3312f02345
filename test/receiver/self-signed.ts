import { generateKeyPairSync, sign } from 'node:crypto'

/** One DER value: its tag, its length and what it holds. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string) => der(0x18, Buffer.from(text))

const COMMON_NAME = '550403'
const ECDSA_WITH_SHA256 = '2a8648ce3d040302'
const SUBJECT_ALT_NAME = '551d11'
const DNS_NAME = 0x82

/** A key and a certificate for localhost that vouches for itself, both PEM (RFC 5280). */
export function selfSigned(): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from('localhost')))))
  const algorithm = sequence(oid(ECDSA_WITH_SHA256))
  const names = sequence(der(DNS_NAME, Buffer.from('localhost')))
  const tbs = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time('20200101000000Z'), time('29990101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid(SUBJECT_ALT_NAME), der(0x04, names)))),
  )
  const signature = sign('sha256', tbs, privateKey)
  const cert = sequence(tbs, algorithm, der(0x03, Buffer.from([0]), signature)).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
