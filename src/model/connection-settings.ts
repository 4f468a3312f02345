/** Whom a side of a TLS connection shows itself as, and which TLS it speaks; suites and curves by OpenSSL's names. */
interface TlsSettings {
  /** One certificate and one key, each as a file or as PEM text. */
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
  minVersion?: 'TLSv1.2' | 'TLSv1.3'
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** For TLS 1.2; those of TLS 1.3 are always on. */
  cipherSuites?: readonly string[]
  /** The preferred one first. */
  curves?: readonly string[]
  /** How often the files are read again, in milliseconds; 0 or absent is never. */
  reloadIntervalMs?: number
}

export interface ServerTlsSettings extends TlsSettings {
  /** Clients must show a certificate that this authority signed. */
  clientCaFile?: string
  /** How long a handshake may take, in milliseconds; 10 s by default. */
  handshakeTimeoutMs?: number
}

/** Of a connection to a backend. */
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

/**
 * Which web pages may send from a browser (Fetch standard, CORS protocol). Origins may hold one `*`, which stands
 * for any characters; headers may be `*`, which allows all.
 */
export interface CorsSettings {
  allowedOrigins: readonly string[]
  /** Request headers beyond accept, content-type and x-requested-with. */
  allowedHeaders?: readonly string[]
  exposedHeaders?: readonly string[]
  /** How long a browser may remember a preflight; absent or 0 leaves it to the browser. */
  maxAgeSeconds?: number
}
