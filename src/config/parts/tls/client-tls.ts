import type { SettingsOf } from '../../schema/schema.ts'
import type { ClientTls } from '../../causeway-config.ts'
import { field, optionalField } from '../../schema/field.ts'
import { FLAG, SECRET_TEXT, TEXT } from '../../schema/scalar-kinds.ts'
import { section } from '../../schema/section.ts'
import { present } from '../present.ts'
import { buildTlsProtocol, tlsProtocolKeys, versionRule } from './tls-protocol.ts'
import { eitherRule, pairRule } from './tls-rules.ts'

export const clientTls = section(
  'How the connection is secured. TLS is on unless `insecure` says otherwise.',
  {
    insecure: optionalField(
      FLAG,
      'Plain text, no TLS; default `false`. An `https://` endpoint or a `ca_file` overrules it.',
    ),
    insecure_skip_verify: field(FLAG, 'false', 'TLS without checking the certificate of the server.'),
    ca_file: optionalField(TEXT, 'File with the authorities to trust, PEM, instead of the well-known ones.'),
    ca_pem: optionalField(SECRET_TEXT, 'The authorities themselves, instead of `ca_file`.'),
    cert_file: optionalField(TEXT, 'File with the certificate to show the server, PEM.'),
    cert_pem: optionalField(SECRET_TEXT, 'That certificate itself, instead of `cert_file`.'),
    key_file: optionalField(TEXT, 'File with the private key of that certificate, PEM.'),
    key_pem: optionalField(SECRET_TEXT, 'That key itself, instead of `key_file`.'),
    server_name_override: optionalField(TEXT, 'The name the certificate of the server must carry.'),
    ...tlsProtocolKeys,
  },
  [pairRule, versionRule, eitherRule('ca'), eitherRule('cert'), eitherRule('key')],
)

/** The scheme of an endpoint, where there is one, decides between TLS and plain text. */
export function buildClientTls(
  tls: SettingsOf<typeof clientTls>,
  scheme: 'http' | 'https' | undefined,
): ClientTls {
  const hasCa = (tls.ca_file ?? tls.ca_pem) !== undefined
  const insecure = tls.insecure ?? scheme === 'http'
  return {
    insecure: insecure && !hasCa && scheme !== 'https',
    insecureSkipVerify: tls.insecure_skip_verify,
    ...buildTlsProtocol(tls),
    ...present({
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
