import type { TlsProtocol } from '../../causeway-config.ts'
import { DURATION } from '../../schema/duration.ts'
import {
  field,
  UNSUPPORTED_COLLECTOR_KEY,
  optionalField,
  refuse,
  InvalidValue,
  refusedKeys,
  type ValueKind,
} from '../../schema/field.ts'
import { TEXT_LIST } from '../../schema/scalar-kinds.ts'
import type { Rule } from '../../schema/section.ts'
import { describeNode, textOf, valueOf } from '../../tree/raw-node.ts'
import { present } from '../present.ts'
import { ownValue } from '../../../model/own-value.ts'

type Version = '1.2' | '1.3'

const VERSION: ValueKind<Version> = {
  type: '"1.2" or "1.3"',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === '1.2' || text === '1.3') return text
    if (text === '1.0' || text === '1.1') return refuse(`TLS ${text} is broken; write "1.2" or "1.3"`)
    const quote = typeof valueOf(node) === 'number' ? '; put it in quotes' : ''
    return refuse(`must be "1.2" or "1.3", got ${describeNode(node)}${quote}`)
  },
}

/** The Collector's names are Go's; OpenSSL has its own. */
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
        return refuse(`"${unknown}" is not known here; write some of ${known.join(', ')}`)
      return written.map((name) => ownValue(table, name) ?? name)
    },
  }
}

/** The keys about TLS itself, which listeners and exporters have in common. */
export const tlsProtocolKeys = {
  min_version: field(VERSION, '"1.2"', 'The oldest TLS that is spoken.'),
  max_version: optionalField(VERSION, 'The newest TLS that is spoken; left out, the newest there is.'),
  cipher_suites: field(
    namesOf('list of cipher suites', CIPHERS),
    '[]',
    'For TLS 1.2, by the names the Collector has for them; left out, those that are thought safe.',
  ),
  curve_preferences: field(
    namesOf('list of curves', CURVES),
    '[]',
    'Curves for the key exchange, the preferred one first.',
  ),
  reload_interval: field(
    DURATION,
    '60s',
    'How often the files are looked at; a change counts for new connections, those there are go on. 0s looks at them at ' +
      'start only, as the Collector does by default.',
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

export const versionRule: Rule<Pick<ProtocolSettings, 'min_version' | 'max_version'>> = (settings) =>
  settings.min_version === '1.3' && settings.max_version === '1.2'
    ? { key: 'max_version', message: 'is below min_version; write "1.3" or leave it out' }
    : undefined

export function buildTlsProtocol(tls: ProtocolSettings): TlsProtocol {
  return {
    minVersion: `TLSv${tls.min_version}`,
    cipherSuites: tls.cipher_suites,
    curves: tls.curve_preferences,
    reloadIntervalMs: tls.reload_interval,
    ...present({ maxVersion: tls.max_version && (`TLSv${tls.max_version}` as const) }),
  }
}
