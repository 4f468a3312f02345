import type { ClientTlsSettings, CorsSettings, ServerTlsSettings } from '../model/connection-settings.ts'
import { ownValue } from '../model/untrusted-names.ts'
import {
  field,
  invalid,
  InvalidValue,
  optionalField,
  optionalSection,
  refusedKeys,
  requiredField,
  type Rule,
  section,
  type SettingsOf,
  UNSUPPORTED_COLLECTOR_KEY,
  type ValueKind,
  withoutUndefined,
} from './schema.ts'
import { FLAG, SECRET_TEXT, TEXT, TEXT_LIST, WAIT, wholeNumber } from './value-kinds.ts'
import { describeNode, textOf, valueOf } from './yaml-tree.ts'

type Version = '1.2' | '1.3'

const VERSION: ValueKind<Version> = {
  type: '"1.2" or "1.3"',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === '1.2' || text === '1.3') return text
    if (text === '1.0' || text === '1.1') return invalid(`TLS ${text} is broken; write "1.2" or "1.3"`)
    const quote = typeof valueOf(node) === 'number' ? '; put it in quotes' : ''
    return invalid(`must be "1.2" or "1.3", got ${describeNode(node)}${quote}`)
  },
}

/** The Collector uses Go's names of cipher suites; this maps them to OpenSSL's. */
const CIPHERS: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
}
const CURVES: Readonly<Record<string, string>> = {
  X25519MLKEM768: 'X25519MLKEM768',
  X25519: 'X25519',
  P256: 'P-256',
  P384: 'P-384',
  P521: 'P-521',
}

function namesOf(type: string, table: Readonly<Record<string, string>>): ValueKind<string[]> {
  const known = Object.keys(table)
  return {
    type,
    read: (node) => {
      const written = TEXT_LIST.read(node)
      if (written instanceof InvalidValue) return written
      const unknown = written.find((name) => !Object.hasOwn(table, name))
      if (unknown !== undefined)
        return invalid(`"${unknown}" is not known here; write some of ${known.join(', ')}`)
      return written.map((name) => ownValue(table, name) ?? name)
    },
  }
}

/** The TLS keys that listeners and exporters share. */
const tlsProtocolKeys = {
  min_version: field(VERSION, '"1.2"', 'The oldest version of TLS that is accepted.'),
  max_version: optionalField(
    VERSION,
    'The newest version of TLS that is accepted. The default is the newest that there is.',
  ),
  cipher_suites: field(
    namesOf('list of cipher suites', CIPHERS),
    '[]',
    "The cipher suites for TLS 1.2, by the Collector's names. An empty list means the ones that Node takes for safe.",
  ),
  curve_preferences: field(
    namesOf('list of curves', CURVES),
    '[]',
    'The curves for the key exchange, in order of preference.',
  ),
  reload_interval: field(
    WAIT,
    '60s',
    "How often the files are checked for changes. A change applies to new connections, and open ones stay. `0s` reads them at the start only, which is the Collector's default.",
  ),
  ...refusedKeys(
    UNSUPPORTED_COLLECTOR_KEY,
    'include_system_ca_certs_pool',
    'include_insecure_cipher_suites',
    'tpm',
  ),
}

interface ProtocolSettings {
  min_version: Version
  max_version: Version | undefined
  cipher_suites: string[]
  curve_preferences: string[]
  reload_interval: number
}

const versionRule: Rule<Pick<ProtocolSettings, 'min_version' | 'max_version'>> = (settings) =>
  settings.min_version === '1.3' && settings.max_version === '1.2'
    ? { key: 'max_version', message: 'is below min_version; write "1.3" or leave it out' }
    : undefined

function buildTlsProtocol(tls: ProtocolSettings): ServerTlsSettings {
  return {
    minVersion: `TLSv${tls.min_version}`,
    cipherSuites: tls.cipher_suites,
    curves: tls.curve_preferences,
    reloadIntervalMs: tls.reload_interval,
    ...withoutUndefined({ maxVersion: tls.max_version && (`TLSv${tls.max_version}` as const) }),
  }
}

interface CertificateAndKey {
  cert_file?: string | undefined
  cert_pem?: string | undefined
  key_file?: string | undefined
  key_pem?: string | undefined
}

/** A certificate needs its key, and a key its certificate. */
const pairRule: Rule<CertificateAndKey> = ({ cert_file, cert_pem, key_file, key_pem }) => {
  const hasCertificate = (cert_file ?? cert_pem) !== undefined
  const hasKey = (key_file ?? key_pem) !== undefined
  if (hasCertificate === hasKey) return undefined
  return {
    key: hasCertificate ? 'key_file' : 'cert_file',
    message: 'for auth via TLS, provide both certificate and key, or neither',
  }
}

/** A certificate or key is a file or PEM text, but not both. */
function eitherRule<K extends 'ca' | 'cert' | 'key'>(
  thing: K,
): Rule<Partial<Record<`${K}_file` | `${K}_pem`, string | undefined>>> {
  return (settings) => {
    const written: Record<string, unknown> = settings
    return written[`${thing}_file`] === undefined || written[`${thing}_pem`] === undefined
      ? undefined
      : { key: `${thing}_pem`, message: `provide either ${thing}_file or ${thing}_pem, not both` }
  }
}

export const serverTls = optionalSection(
  'Serves TLS. Without this section the port is not encrypted.',
  {
    cert_file: optionalField(TEXT, 'The path of a PEM file with the certificate chain.'),
    cert_pem: optionalField(SECRET_TEXT, 'The certificate chain itself as PEM, instead of `cert_file`.'),
    key_file: optionalField(TEXT, 'The path of a PEM file with the private key.'),
    key_pem: optionalField(SECRET_TEXT, 'The private key itself as PEM, instead of `key_file`.'),
    client_ca_file: optionalField(
      TEXT,
      'The path of a PEM file with certificate authorities. Every client must then show a certificate that one of them signed.',
    ),
    client_ca_file_reload: optionalField(
      FLAG,
      "This key has no effect, because `reload_interval` holds for all files. It is accepted so that a Collector's configuration works.",
    ),
    ...tlsProtocolKeys,
    ...refusedKeys('write client_ca_file, by which clients are checked', 'ca_file', 'ca_pem'),
  },
  [
    pairRule,
    versionRule,
    eitherRule('cert'),
    eitherRule('key'),
    ({ cert_file, cert_pem, key_file, key_pem }) =>
      (cert_file ?? cert_pem ?? key_file ?? key_pem) === undefined
        ? {
            key: 'cert_file',
            message:
              'a listener needs a certificate and its key; write cert_file and key_file, or leave tls out',
          }
        : undefined,
  ],
)

export function buildServerTls(tls: SettingsOf<typeof serverTls>): ServerTlsSettings | undefined {
  return (
    tls && {
      ...buildTlsProtocol(tls),
      ...withoutUndefined({
        certFile: tls.cert_file,
        certPem: tls.cert_pem,
        keyFile: tls.key_file,
        keyPem: tls.key_pem,
        clientCaFile: tls.client_ca_file,
      }),
    }
  )
}

export const clientTls = section(
  'How the connection to the server is encrypted. TLS is on unless `insecure` is `true`.',
  {
    insecure: optionalField(
      FLAG,
      'Whether to connect without TLS. The default is `false`. An `https://` endpoint or a `ca_file` turns TLS on all the same.',
    ),
    insecure_skip_verify: field(
      FLAG,
      'false',
      'Whether to accept any certificate of the server without checking it.',
    ),
    ca_file: optionalField(
      TEXT,
      'The path of a PEM file with the certificate authorities to trust, instead of the well-known ones.',
    ),
    ca_pem: optionalField(
      SECRET_TEXT,
      'These certificate authorities themselves as PEM, instead of `ca_file`.',
    ),
    cert_file: optionalField(
      TEXT,
      'The path of a PEM file with the certificate that is shown to the server.',
    ),
    cert_pem: optionalField(SECRET_TEXT, 'That certificate itself as PEM, instead of `cert_file`.'),
    key_file: optionalField(TEXT, 'The path of a PEM file with the private key of that certificate.'),
    key_pem: optionalField(SECRET_TEXT, 'That key itself as PEM, instead of `key_file`.'),
    server_name_override: optionalField(TEXT, 'The name that the certificate of the server must have.'),
    ...tlsProtocolKeys,
  },
  [pairRule, versionRule, eitherRule('ca'), eitherRule('cert'), eitherRule('key')],
)

/** If the endpoint has a scheme, that decides whether TLS is used. */
export function buildClientTls(
  tls: SettingsOf<typeof clientTls>,
  scheme: 'http' | 'https' | undefined,
): ClientTlsSettings {
  const hasCa = (tls.ca_file ?? tls.ca_pem) !== undefined
  const insecure = tls.insecure ?? scheme === 'http'
  return {
    insecure: insecure && !hasCa && scheme !== 'https',
    insecureSkipVerify: tls.insecure_skip_verify,
    ...buildTlsProtocol(tls),
    ...withoutUndefined({
      caFile: tls.ca_file,
      caPem: tls.ca_pem,
      certFile: tls.cert_file,
      certPem: tls.cert_pem,
      keyFile: tls.key_file,
      keyPem: tls.key_pem,
      serverNameOverride: tls.server_name_override,
    }),
  }
}

const authenticator = (meaning: string) => ({
  authenticator: requiredField(TEXT, 'authenticator: bearertokenauth', meaning),
})

/** The `auth` key of a listener. */
export const serverAuth = optionalSection(
  'Which credential a client must show. Without this section none is needed.',
  {
    ...authenticator(
      'The id of an extension that checks it: `bearertokenauth`, or `basicauth` with `htpasswd`.',
    ),
    ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'request_params'),
  },
)

/** The `auth` key of an exporter. */
export const clientAuth = optionalSection('The credential that is shown to the backend.', {
  ...authenticator(
    'The id of an extension that provides it: `bearertokenauth`, or `basicauth` with `client_auth`.',
  ),
})

export const cors = optionalSection(
  'Allows web pages of other origins to send requests from a browser.',
  {
    allowed_origins: field(
      TEXT_LIST,
      '[]',
      'The origins that are allowed, such as `https://*.example.com`. `*` matches any text.',
    ),
    allowed_headers: field(
      TEXT_LIST,
      '[]',
      'The request headers that are allowed in addition to the usual ones. `*` allows all.',
    ),
    exposed_headers: field(TEXT_LIST, '[]', 'The response headers that the page may read.'),
    max_age: field(
      wholeNumber(0),
      '0',
      'How long a browser may cache the answer to a preflight request, in seconds without a unit. `0` leaves it to the browser.',
    ),
  },
  [
    ({ allowed_origins, allowed_headers }) =>
      allowed_origins.length === 0 && allowed_headers.length > 0
        ? {
            key: 'allowed_headers',
            message: 'has no effect without allowed_origins; write allowed_origins too',
          }
        : undefined,
  ],
)

export function buildCors(settings: SettingsOf<typeof cors>): CorsSettings | undefined {
  if (settings === undefined || settings.allowed_origins.length === 0) return undefined
  return {
    allowedOrigins: settings.allowed_origins,
    allowedHeaders: settings.allowed_headers,
    exposedHeaders: settings.exposed_headers,
    maxAgeSeconds: settings.max_age,
  }
}

/** The limit for one address must not exceed the limit for all. */
export const perAddressRule: Rule<{
  max_connections: number
  max_connections_per_address: number | undefined
}> = ({ max_connections, max_connections_per_address }) =>
  max_connections_per_address !== undefined && max_connections_per_address > max_connections
    ? {
        key: 'max_connections_per_address',
        message: 'must not exceed max_connections; write less, or a larger max_connections',
      }
    : undefined
