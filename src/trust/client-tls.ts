import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { errorText } from '../model/error-text.ts'
import { FollowedFiles } from './followed-files.ts'
import { assemble, filesOf, type PemPart } from './pem-parts.ts'
import { protocolOf, type TlsSettings } from './tls-settings.ts'

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
      const found = assemble(parts, contents)
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
