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
  caPem?: string
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
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
  const ca = pemOf('ca_file', tls.caPem, tls.caFile)
  const cert = pemOf('cert_file', tls.certPem, tls.certFile)
  const key = pemOf('key_file', tls.keyPem, tls.keyFile)
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error(
      'for auth via TLS, provide both certificate and key, or neither: set tls.cert_file and tls.key_file',
    )
  }
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

function pemOf(setting: string, pem: string | undefined, file: string | undefined): Buffer | undefined {
  if (pem !== undefined) return Buffer.from(pem)
  return file === undefined ? undefined : readPem(setting, file)
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new Error(`tls.${setting}: cannot read the certificate file: ${errorText(cause)}`, { cause })
  }
}
