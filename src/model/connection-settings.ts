/** The certificate and the TLS parameters of one side of a connection. Cipher suites and curves have OpenSSL's names. */
interface TlsSettings {
  /** A certificate and its key, each as a file or as PEM text. */
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
  minVersion?: 'TLSv1.2' | 'TLSv1.3'
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** For TLS 1.2. The cipher suites of TLS 1.3 are always on. */
  cipherSuites?: readonly string[]
  /** In order of preference. */
  curves?: readonly string[]
  /** The interval at which the files are read again, in milliseconds; 0 or absent is never. */
  reloadIntervalMs?: number
}

export interface ServerTlsSettings extends TlsSettings {
  /** The authority that must have signed the certificate of a client. */
  clientCaFile?: string
  /** The time limit of a handshake in milliseconds; 10 s by default. */
  handshakeTimeoutMs?: number
}

/** TLS settings of a connection to a backend. */
export interface ClientTlsSettings extends TlsSettings {
  /** Whether to connect without TLS. Over HTTP the scheme of the URL decides instead. */
  insecure: boolean
  /** Whether to accept any certificate. */
  insecureSkipVerify: boolean
  /** The authorities to trust instead of the system's. */
  caFile?: string
  caPem?: string
  /** The name to expect in the backend's certificate, if not the host's. */
  serverNameOverride?: string
}

/**
 * Which web pages may send requests from a browser (CORS protocol of the Fetch standard). An origin may contain one `*`, which matches any
 * characters; `*` among the headers allows all.
 */
export interface CorsSettings {
  allowedOrigins: readonly string[]
  /** Allowed request headers, besides accept, content-type and x-requested-with. */
  allowedHeaders?: readonly string[]
  exposedHeaders?: readonly string[]
  /** How long a browser may cache a preflight response; absent or 0: as long as the browser does by default. */
  maxAgeSeconds?: number
}
