import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A certificate and its private key, as PEM. */
export interface LocalCertificate {
  readonly certificate: string
  readonly key: string
}

const DAY_MS = 86_400_000
/** Longer than any command runs. */
const VALID_DAYS = 365
const LOOPBACK = Buffer.from([127, 0, 0, 1])

const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const UTF8_STRING = 0x0c
const UTC_TIME = 0x17
const SEQUENCE = 0x30
const SET = 0x31
const IP_ADDRESS = 0x87
const KEY_ID = 0x80
/** Tags of RFC 5280, section 4.1: of the version, and of the extensions. */
const VERSION = 0xa0
const EXTENSIONS = 0xa3
const LONG_FORM = 0x80

const TRUE = Buffer.from([0x01, 0x01, 0xff])
const THIRD = Buffer.from([2])
const NO_UNUSED_BITS = Buffer.from([0])
/** digitalSignature and keyCertSign. */
const KEY_USAGE = Buffer.from([2, 0x84])
/** Object identifiers, encoded. */
const OID = {
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
  commonName: Buffer.from('0603550403', 'hex'),
  subjectKeyId: Buffer.from('0603551d0e', 'hex'),
  keyUsage: Buffer.from('0603551d0f', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
  basicConstraints: Buffer.from('0603551d13', 'hex'),
  authorityKeyId: Buffer.from('0603551d23', 'hex'),
  extendedKeyUsage: Buffer.from('0603551d25', 'hex'),
  serverAuth: Buffer.from('06082b06010505070301', 'hex'),
}

/** The shortest form of a DER length; Go refuses longer ones. */
function lengthOctets(length: number): number[] {
  if (length < LONG_FORM) return [length]
  return length < 256 ? [LONG_FORM + 1, length] : [LONG_FORM + 2, length >> 8, length & 0xff]
}

/** One value in DER (ITU-T X.690). */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(body.length)]), body])
}

const sequence = (...content: readonly Buffer[]): Buffer => der(SEQUENCE, ...content)
const extension = (oid: Buffer, value: Buffer, ...critical: readonly Buffer[]): Buffer =>
  sequence(oid, ...critical, der(OCTET_STRING, value))

/** UTCTime, which RFC 5280 requires until 2049. */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)
  return der(UTC_TIME, Buffer.from(`${digits}Z`))
}

/**
 * Makes a self-signed certificate (RFC 5280) for a server on 127.0.0.1, valid from a day before `nowMs`. Clients get it as their
 * certificate authority. It has the extensions that strict clients such as Python's require.
 */
export function localCertificate(nowMs: number): LocalCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const keyId = createHash('sha1').update(spki).digest()
  const algorithm = sequence(OID.ecdsaWithSha256)
  const name = sequence(der(SET, sequence(OID.commonName, der(UTF8_STRING, Buffer.from('causeway')))))
  const serial = randomBytes(16)
  // Positive, and without leading zeros.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  const content = sequence(
    der(VERSION, der(INTEGER, THIRD)),
    der(INTEGER, serial),
    algorithm,
    name,
    sequence(utcTime(nowMs - DAY_MS), utcTime(nowMs + VALID_DAYS * DAY_MS)),
    name,
    spki,
    der(
      EXTENSIONS,
      sequence(
        extension(OID.basicConstraints, sequence(TRUE), TRUE),
        extension(OID.keyUsage, der(BIT_STRING, KEY_USAGE), TRUE),
        extension(OID.extendedKeyUsage, sequence(OID.serverAuth)),
        extension(OID.subjectAltName, sequence(der(IP_ADDRESS, LOOPBACK))),
        extension(OID.subjectKeyId, der(OCTET_STRING, keyId)),
        extension(OID.authorityKeyId, sequence(der(KEY_ID, keyId))),
      ),
    ),
  )
  const signature = sign('sha256', content, privateKey)
  const whole = sequence(content, algorithm, der(BIT_STRING, NO_UNUSED_BITS, signature))
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replace(/(.{64})(?=.)/g, '$1\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
