import type { SettingsOf } from '../../schema/schema.ts'
import type { ServerTls } from '../../causeway-config.ts'
import { optionalField, refusedKeys } from '../../schema/field.ts'
import { FLAG, SECRET_TEXT, TEXT } from '../../schema/scalar-kinds.ts'
import { optionalSection } from '../../schema/section.ts'
import { present } from '../present.ts'
import { buildTlsProtocol, tlsProtocolKeys, versionRule } from './tls-protocol.ts'
import { eitherRule, pairRule } from './tls-rules.ts'

export const serverTls = optionalSection(
  'Serve TLS. Left out, the listener speaks plain text.',
  {
    cert_file: optionalField(TEXT, 'File with the certificate chain, PEM.'),
    cert_pem: optionalField(SECRET_TEXT, 'The certificate chain itself, instead of `cert_file`.'),
    key_file: optionalField(TEXT, 'File with the private key, PEM.'),
    key_pem: optionalField(SECRET_TEXT, 'The private key itself, instead of `key_file`.'),
    client_ca_file: optionalField(
      TEXT,
      'File with the authorities, PEM, one of which must have signed the certificate of every client.',
    ),
    client_ca_file_reload: optionalField(
      FLAG,
      'Taken for the sake of configurations that have it; `reload_interval` counts for all files.',
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

export function buildServerTls(tls: SettingsOf<typeof serverTls>): ServerTls | undefined {
  return (
    tls && {
      ...buildTlsProtocol(tls),
      ...present({
        certFile: tls.cert_file,
        certPem: tls.cert_pem,
        keyFile: tls.key_file,
        keyPem: tls.key_pem,
        clientCaFile: tls.client_ca_file,
      }),
    }
  )
}
