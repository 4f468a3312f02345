import { createSecureContext, type SecureContextOptions, type TLSSocket } from 'node:tls'
import { errorText } from '../model/faults.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'

/** With `clientCaFile` only clients whose certificate it vouches for are let in. */
export interface ServerTlsSettings extends TlsSettings {
  clientCaFile?: string
  /** How long a handshake may take, in milliseconds; 10 s unless given. */
  handshakeTimeoutMs?: number
}

/** What a server is made with; `requestCert` and `rejectUnauthorized` never change after that. */
interface ServerTlsOptions extends SecureContextOptions {
  requestCert: boolean
  rejectUnauthorized: boolean
  handshakeTimeout: number
}

/** A server whose certificates can be exchanged: new connections get the new ones, those there are live on. */
interface SecuredServer {
  setSecureContext(options: SecureContextOptions): void
  on(event: 'close', listener: () => void): unknown
}

const HANDSHAKE_TIMEOUT_MS = 10_000

/**
 * Reads what a listener's TLS settings name and follows the files. `owner` names the listener in errors. Throws the setting
 * that is wrong and what to do.
 */
export function openServerTls(
  owner: string,
  tls: ServerTlsSettings,
  onTrouble: (reason: string) => void = () => undefined,
): FollowedFiles<ServerTlsOptions> {
  const parts: PemPart[] = [
    { name: 'cert', setting: 'tls::cert_file', pem: tls.certPem, file: tls.certFile },
    { name: 'key', setting: 'tls::key_file', pem: tls.keyPem, file: tls.keyFile },
    { name: 'ca', setting: 'tls::client_ca_file', file: tls.clientCaFile },
  ]
  const asksForCertificate = tls.clientCaFile !== undefined
  try {
    return new FollowedFiles({
      files: filesOf(parts),
      intervalMs: tls.reloadIntervalMs ?? 0,
      onTrouble: (reason) => onTrouble(`${owner} ${reason}`),
      make: (contents) => {
        const options = { ...protocolOf(tls), ...pemContents(parts, contents) }
        checkUsable(options)
        return {
          ...options,
          requestCert: asksForCertificate,
          rejectUnauthorized: asksForCertificate,
          handshakeTimeout: tls.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
        }
      },
    })
  } catch (cause) {
    throw new Error(`${owner} ${errorText(cause)}`, { cause })
  }
}

/** Has the server use every change of the files for as long as it lives. */
export function followCertificates(server: SecuredServer, secured: FollowedFiles<ServerTlsOptions>): void {
  secured.onChange((options) => server.setSecureContext(options))
  server.on('close', () => secured[Symbol.dispose]())
}

function checkUsable(options: SecureContextOptions): void {
  try {
    createSecureContext(options)
  } catch (cause) {
    const advice = 'give a certificate and its own key in PEM form'
    throw new Error(`cannot use its tls certificate and key: ${errorText(cause)}; ${advice}`, { cause })
  }
}

/** How a connection to a backend is secured; file names as the operator wrote them, PEM inside. */
export interface ClientTlsSettings extends TlsSettings {
  /** Plain text instead of TLS. Over HTTP the URL's scheme decides instead. */
  insecure: boolean
  /** Accept any certificate. */
  insecureSkipVerify: boolean
  /** Certificates to trust instead of the usual ones. */
  caFile?: string
  caPem?: string
  /** The name to expect in the backend's certificate, when it is not the host's. */
  serverNameOverride?: string
}

/** Reads the certificate files and follows them; throws an error naming the setting when one cannot be used. */
export function openClientTls(
  tls: ClientTlsSettings,
  onTrouble: (reason: string) => void = () => undefined,
): FollowedFiles<SecureContextOptions> {
  const parts: PemPart[] = [
    { name: 'ca', setting: 'tls::ca_file', pem: tls.caPem, file: tls.caFile },
    { name: 'cert', setting: 'tls::cert_file', pem: tls.certPem, file: tls.certFile },
    { name: 'key', setting: 'tls::key_file', pem: tls.keyPem, file: tls.keyFile },
  ]
  return new FollowedFiles({
    files: filesOf(parts),
    intervalMs: tls.reloadIntervalMs ?? 0,
    onTrouble,
    make: (contents) => {
      const found = pemContents(parts, contents)
      if ((found.cert === undefined) !== (found.key === undefined)) {
        throw new Error(
          'for auth via TLS, provide both certificate and key, or neither: set tls.cert_file and tls.key_file',
        )
      }
      const options = { ...protocolOf(tls), ...found }
      try {
        createSecureContext(options)
      } catch (cause) {
        throw new Error(
          `cannot use its tls certificates: ${errorText(cause)}; give certificates in PEM form, and a key that fits`,
          { cause },
        )
      }
      return options
    },
  })
}

/** A certificate and its key, each as the path of a PEM file or as PEM text, and how TLS is spoken. */
interface TlsSettings {
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
  minVersion?: 'TLSv1.2' | 'TLSv1.3'
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL's names, for TLS 1.2; those of TLS 1.3 are always on. */
  cipherSuites?: readonly string[]
  /** OpenSSL's names, the preferred one first. */
  curves?: readonly string[]
  /** How often the files are looked at, in milliseconds; 0 or absent is never. */
  reloadIntervalMs?: number
}

/** The same as Node takes it, without certificates. */
function protocolOf(tls: TlsSettings): SecureContextOptions {
  return {
    minVersion: tls.minVersion ?? 'TLSv1.2',
    ...(tls.maxVersion !== undefined && { maxVersion: tls.maxVersion }),
    ...(tls.cipherSuites?.length && { ciphers: tls.cipherSuites.join(':') }),
    ...(tls.curves?.length && { ecdhCurve: tls.curves.join(':') }),
  }
}

/** One piece of PEM, written in the configuration or named there. */
interface PemPart {
  name: 'ca' | 'cert' | 'key'
  setting: string
  pem?: string | undefined
  file?: string | undefined
}

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/

/** The files among the pieces. */
function filesOf(parts: readonly PemPart[]): NamedFile[] {
  return parts.flatMap(({ setting, pem, file }) =>
    pem === undefined && file !== undefined ? [{ setting, path: file }] : [],
  )
}

/** Every piece there is, by name; `contents` are those of the files, in order. Throws where an authority has no certificate. */
function pemContents(
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
