import { createSecureContext, type SecureContextOptions, type TLSSocket } from 'node:tls'
import { errorText } from '../model/faults.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'

/** With `clientCaFile` clients need a certificate that it signed. */
export interface ServerTlsSettings extends TlsSettings {
  clientCaFile?: string
  /** How long a handshake may take, in milliseconds; 10 s by default. */
  handshakeTimeoutMs?: number
}

/** The options of a server; `requestCert` and `rejectUnauthorized` never change later. */
interface ServerTlsOptions extends SecureContextOptions {
  requestCert: boolean
  rejectUnauthorized: boolean
  handshakeTimeout: number
}

/** A server whose certificates can be replaced: new connections get the new ones, existing ones go on. */
interface SecuredServer {
  setSecureContext(options: SecureContextOptions): void
  on(event: 'close', listener: () => void): unknown
}

const HANDSHAKE_TIMEOUT_MS = 10_000

/**
 * Reads the certificates of a listener and follows their files. `owner` names the listener in errors. Throws which setting is wrong
 * and what to do.
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

/** Applies every change of the files to the server while it runs. */
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

/** The TLS settings of a connection to a backend; PEM files. */
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

/** By default, what Node trusts. */
export const DEFAULT_CLIENT_TLS: ClientTlsSettings = {
  ...{ insecure: false, insecureSkipVerify: false, minVersion: 'TLSv1.2' },
  ...{ cipherSuites: [], curves: [], reloadIntervalMs: 0 },
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

/** A certificate and its key, each as the path of a PEM file or as PEM text, and TLS versions and ciphers. */
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
  /** How often the files are read again, in milliseconds; 0 or absent is never. */
  reloadIntervalMs?: number
}

/** The same as options of Node, without certificates. */
function protocolOf(tls: TlsSettings): SecureContextOptions {
  return {
    minVersion: tls.minVersion ?? 'TLSv1.2',
    ...(tls.maxVersion !== undefined && { maxVersion: tls.maxVersion }),
    ...(tls.cipherSuites?.length && { ciphers: tls.cipherSuites.join(':') }),
    ...(tls.curves?.length && { ecdhCurve: tls.curves.join(':') }),
  }
}

/** One piece of PEM, inline or in a file. */
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

/** All pieces by name; `contents` are those of the files, in order. Throws if an authority has no certificate. */
function pemContents(
  parts: readonly PemPart[],
  contents: readonly Buffer[],
): Partial<Record<PemPart['name'], Buffer>> {
  const left = contents[Symbol.iterator]()
  const found: Partial<Record<PemPart['name'], Buffer>> = {}
  for (const { name, setting, pem, file } of parts) {
    const bytes = pem === undefined ? (file === undefined ? undefined : left.next().value) : Buffer.from(pem)
    if (bytes === undefined) continue
    // OpenSSL would silently trust nobody with such a file.
    if (name === 'ca' && !CERTIFICATE.test(bytes.toString('latin1')))
      throw new Error(
        `${setting}${file === undefined ? '' : ` ${file}`} has no certificate in it; give one or more in PEM form`,
      )
    found[name] = bytes
  }
  return found
}

const ALTERNATIVE = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g
/** How Node names the kinds of certificate names in rules. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['DNS', 'dns'],
  ['URI', 'uri'],
  ['email', 'email'],
  ['IP Address', 'ip'],
])

/**
 * The names in the verified certificate of the peer, each after its kind (`cn:`, `dns:`, `uri:`,
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
