import type { Rule } from '../../schema/section.ts'

interface CertificateAndKey {
  cert_file?: string | undefined
  cert_pem?: string | undefined
  key_file?: string | undefined
  key_pem?: string | undefined
}

/** A certificate comes with its key. */
export const pairRule: Rule<CertificateAndKey> = ({ cert_file, cert_pem, key_file, key_pem }) => {
  const hasCertificate = (cert_file ?? cert_pem) !== undefined
  const hasKey = (key_file ?? key_pem) !== undefined
  if (hasCertificate === hasKey) return undefined
  return {
    key: hasCertificate ? 'key_file' : 'cert_file',
    message: 'for auth via TLS, provide both certificate and key, or neither',
  }
}

/** A thing is given as a file or as PEM text, not as both. */
export function eitherRule<K extends 'ca' | 'cert' | 'key'>(
  thing: K,
): Rule<Partial<Record<`${K}_file` | `${K}_pem`, string | undefined>>> {
  return (settings) => {
    const written: Record<string, unknown> = settings
    return written[`${thing}_file`] === undefined || written[`${thing}_pem`] === undefined
      ? undefined
      : { key: `${thing}_pem`, message: `provide either ${thing}_file or ${thing}_pem, not both` }
  }
}
