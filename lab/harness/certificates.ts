import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'

/** A certificate and its key, both PEM. */
export interface Certificate {
  cert: string
  key: string
}

interface Subject {
  /** The common name; localhost unless given. */
  name?: string
  /** Organizations, which Kubernetes takes for the groups of a user. */
  groups?: readonly string[]
  /** DNS names it is good for; localhost unless given. */
  dns?: string[]
  /** URIs it is good for, such as a SPIFFE id. */
  uris?: string[]
  /** How long it is good, as YYYYMMDDHHMMSSZ. */
  from?: string
  to?: string
}

/** One DER value: its tag, its length and what it holds (X.690). */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string) => der(0x18, Buffer.from(text))
const octets = (...parts: Uint8Array[]) => der(0x04, ...parts)

const COMMON_NAME = '550403'
const ORGANIZATION = '55040a'
const ECDSA_WITH_SHA256 = '2a8648ce3d040302'
const SUBJECT_ALT_NAME = '551d11'
const BASIC_CONSTRAINTS = '551d13'
const DNS_NAME = 0x82
const URI = 0x86
const TRUE = der(0x01, Buffer.from([0xff]))

let lastSerial = 0

/** An authority that signs certificates (RFC 5280). */
export class Authority {
  readonly #name: string
  readonly #key: KeyObject
  /** What whoever trusts it is given, PEM. */
  readonly cert: string

  constructor(name = 'an authority') {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#name = name
    this.#key = privateKey
    const isAuthority = sequence(oid(BASIC_CONSTRAINTS), TRUE, octets(sequence(TRUE)))
    this.cert = this.#sign(name, publicKey, [isAuthority], {})
  }

  /** A certificate for this machine unless the subject says otherwise. */
  issue(subject: Subject = {}): Certificate {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const names = [
      ...(subject.dns ?? ['localhost']).map((text) => der(DNS_NAME, Buffer.from(text))),
      ...(subject.uris ?? []).map((text) => der(URI, Buffer.from(text))),
    ]
    const alternatives =
      names.length === 0 ? [] : [sequence(oid(SUBJECT_ALT_NAME), octets(sequence(...names)))]
    return {
      cert: this.#sign(subject.name ?? 'localhost', publicKey, alternatives, subject),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    }
  }

  #sign(
    subject: string,
    publicKey: KeyObject,
    extensions: Buffer[],
    { from = '20200101000000Z', to = '29990101000000Z', groups = [] }: Subject,
  ): string {
    const attribute = (type: string, text: string) =>
      der(0x31, sequence(oid(type), der(0x0c, Buffer.from(text))))
    const named = (text: string, ...organizations: readonly string[]) =>
      sequence(...organizations.map((one) => attribute(ORGANIZATION, one)), attribute(COMMON_NAME, text))
    const algorithm = sequence(oid(ECDSA_WITH_SHA256))
    const tbs = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.from([++lastSerial])),
      algorithm,
      named(this.#name),
      sequence(time(from), time(to)),
      named(subject, ...groups),
      publicKey.export({ type: 'spki', format: 'der' }),
      ...(extensions.length === 0 ? [] : [der(0xa3, sequence(...extensions))]),
    )
    const signature = sign('sha256', tbs, this.#key)
    const text = sequence(tbs, algorithm, der(0x03, Buffer.from([0]), signature)).toString('base64')
    return `-----BEGIN CERTIFICATE-----\n${text.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`
  }
}
