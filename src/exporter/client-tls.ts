import { readFileSync } from 'node:fs'
import { errorText } from './error-text.ts'

/** How a connection to a backend is secured; file names as the operator wrote them, PEM inside. */
export interface ClientTlsSettings {
  /** Plain text instead of TLS. Over HTTP the URL's scheme decides instead. */
  insecure: boolean
  /** Accept any certificate. */
  insecureSkipVerify: boolean
  /** Certificates to trust instead of the usual ones. */
  caFile?: string
  certFile?: string
  keyFile?: string
  /** The name to expect in the backend's certificate, when it is not the host's. */
  serverNameOverride?: string
}

export interface ClientTlsFiles {
  ca?: Buffer
  cert?: Buffer
  key?: Buffer
}

/** Reads the certificate files; throws an error naming the setting when one cannot be read or one of a pair is missing. */
export function readClientTls(tls: ClientTlsSettings): ClientTlsFiles {
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined)) {
    throw new Error(
      'for auth via TLS, provide both certificate and key, or neither: set tls.cert_file and tls.key_file',
    )
  }
  return {
    ...(tls.caFile !== undefined && { ca: readPem('ca_file', tls.caFile) }),
    ...(tls.certFile !== undefined && { cert: readPem('cert_file', tls.certFile) }),
    ...(tls.keyFile !== undefined && { key: readPem('key_file', tls.keyFile) }),
  }
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Error(`tls.${setting}: cannot read the certificate file: ${errorText(cause)}`, { cause })
  }
}
