import type { SecureContextOptions } from 'node:tls'

/** A certificate and its key, each as the path of a PEM file or as PEM text, and how TLS is spoken. */
export interface TlsSettings {
  certFile?: string
  certPem?: string
  keyFile?: string
  keyPem?: string
  minVersion?: 'TLSv1.2' | 'TLSv1.3'
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** OpenSSL's names, for TLS 1.2; those of TLS 1.3 are always on. */
  cipherSuites?: readonly string[]
  /** OpenSSL's names, the preferred one first. */
  curves?: readonly string[]
  /** How often the files are looked at, in milliseconds; 0 or absent is never. */
  reloadIntervalMs?: number
}

/** The same as Node takes it, without certificates. */
export function protocolOf(tls: TlsSettings): SecureContextOptions {
  return {
    minVersion: tls.minVersion ?? 'TLSv1.2',
    ...(tls.maxVersion !== undefined && { maxVersion: tls.maxVersion }),
    ...(tls.cipherSuites?.length && { ciphers: tls.cipherSuites.join(':') }),
    ...(tls.curves?.length && { ecdhCurve: tls.curves.join(':') }),
  }
}
