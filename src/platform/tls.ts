import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContextOptions, type TLSSocket } from 'node:tls'
import type { ClientTlsSettings, ServerTlsSettings } from '../model/connection-settings.ts'
import { errorText } from '../model/faults.ts'
import { FollowedFiles, type NamedFile } from './followed-files.ts'
import { systemClock } from './system-clock.ts'

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
 * and what to do; tells `onTrouble` of a certificate that is not valid now.
 */
export function openServerTls(
  owner: string,
  tls: ServerTlsSettings,
  onTrouble: (reason: string) => void = () => undefined,
  wallMs: () => number = () => systemClock.wallMs(),
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
      doubt: (contents) => timeOfCertificate(parts, contents, wallMs()),
      make: (contents) => {
        const options = { ...protocolOf(tls), ...pemContents(parts, contents) }
        checkUsable(options, 'certificate and key', 'give a certificate and its own key in PEM form')
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

function checkUsable(options: SecureContextOptions, what: string, advice: string): void {
  try {
    createSecureContext(options)
  } catch (cause) {
    throw new Error(`cannot use its tls ${what}: ${errorText(cause)}; ${advice}`, { cause })
  }
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
  wallMs: () => number = () => systemClock.wallMs(),
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
    doubt: (contents) => timeOfCertificate(parts, contents, wallMs()),
    make: (contents) => {
      const found = pemContents(parts, contents)
      if ((found.cert === undefined) !== (found.key === undefined)) {
        throw new Error(
          'for auth via TLS, provide both certificate and key, or neither: set tls.cert_file and tls.key_file',
        )
      }
      const options = { ...protocolOf(tls), ...found }
      checkUsable(options, 'certificates', 'give certificates in PEM form, and a key that fits')
      return options
    },
  })
}

/** The protocol settings as options of Node. */
function protocolOf(tls: ServerTlsSettings | ClientTlsSettings): SecureContextOptions {
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

const BEGIN = '-----BEGIN'
/** At the start of a line alone: comments between certificates may contain it too. */
const BEGINNING = /^-----BEGIN/m
/** A certificate, or something whose kind was cut off. */
const CERTIFICATE = /^ (?:X509 |TRUSTED )?CERTIFICATE-----|^(?! [A-Z0-9 ]+-----)/

/** The files among the pieces. */
function filesOf(parts: readonly PemPart[]): NamedFile[] {
  return parts.flatMap(({ setting, pem, file }) =>
    pem === undefined && file !== undefined ? [{ setting, path: file }] : [],
  )
}

/** All pieces by name; `contents` are those of the files, in order. Throws if an authority is unusable. */
function pemContents(
  parts: readonly PemPart[],
  contents: readonly Buffer[],
): Partial<Record<PemPart['name'], Buffer>> {
  const left = contents[Symbol.iterator]()
  const found: Partial<Record<PemPart['name'], Buffer>> = {}
  for (const { name, setting, pem, file } of parts) {
    const bytes = pem === undefined ? (file === undefined ? undefined : left.next().value) : Buffer.from(pem)
    if (bytes === undefined) continue
    const fault = name === 'ca' ? faultOfAuthorities(bytes.toString('latin1')) : undefined
    if (fault !== undefined)
      throw new Error(
        `${setting}${file === undefined ? '' : ` ${file}`} has ${fault}; give one or more in PEM form`,
      )
    found[name] = bytes
  }
  return found
}

/** Why the own certificate is not valid now; undefined if it is. The peer refuses such a certificate, mostly without a clear error. */
function timeOfCertificate(
  parts: readonly PemPart[],
  contents: readonly Buffer[],
  nowMs: number,
): string | undefined {
  const { cert } = pemContents(parts, contents)
  if (cert === undefined) return undefined
  const file = parts.find(({ name }) => name === 'cert')?.file
  const shown = `shows a certificate (tls::cert_file${file === undefined ? '' : ` ${file}`})`
  const { validFromDate, validToDate } = readCertificate(cert) ?? {}
  if (validFromDate === undefined || validToDate === undefined) return undefined
  if (nowMs > validToDate.getTime())
    return `${shown} that expired at ${validToDate.toISOString()}: everybody refuses it; put a new one and its key in its place`
  if (nowMs < validFromDate.getTime())
    return `${shown} that is not valid before ${validFromDate.toISOString()}: everybody refuses it until then; give one that is valid now, and look at the clock of this machine`
  return undefined
}

/** Undefined for a format that OpenSSL accepts in a listener but X509Certificate does not. */
function readCertificate(pem: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** What is wrong with a CA file; undefined if usable. OpenSSL would silently ignore a damaged or truncated certificate and all after it. */
export function faultOfAuthorities(text: string): string | undefined {
  const certificates = text
    .split(BEGINNING)
    .slice(1)
    .filter((part) => CERTIFICATE.test(part))
  if (certificates.length === 0) return 'no certificate in it'
  try {
    for (const part of certificates) new X509Certificate(BEGIN + part)
    return undefined
  } catch (error) {
    return `a certificate in it that cannot be read (${errorText(error)})`
  }
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
