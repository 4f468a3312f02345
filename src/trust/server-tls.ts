import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { errorText } from '../model/error-text.ts'
import { FollowedFiles } from './followed-files.ts'
import { assemble, filesOf, type PemPart } from './pem-parts.ts'
import { protocolOf, type TlsSettings } from './tls-settings.ts'

/** With `clientCaFile` only clients whose certificate it vouches for are let in. */
export interface ServerTlsSettings extends TlsSettings {
  clientCaFile?: string
  /** How long a handshake may take, in milliseconds; 10 s unless given. */
  handshakeTimeoutMs?: number
}

/** What a server is made with; `requestCert` and `rejectUnauthorized` never change after that. */
export interface ServerTlsOptions extends SecureContextOptions {
  requestCert: boolean
  rejectUnauthorized: boolean
  handshakeTimeout: number
}

/** A server whose certificates can be exchanged: new connections get the new ones, those there are live on. */
export interface SecuredServer {
  setSecureContext(options: SecureContextOptions): void
  on(event: 'close', listener: () => void): unknown
}

const HANDSHAKE_TIMEOUT_MS = 10_000

/**
 * Reads what a listener's TLS settings name and follows the files. `owner` names the listener in errors. Throws the setting
 * that is wrong and what to do.
 */
export function openServerTls(
  owner: string,
  tls: ServerTlsSettings,
  onTrouble: (reason: string) => void = () => undefined,
): FollowedFiles<ServerTlsOptions> {
  const parts: PemPart[] = [
    { name: 'cert', setting: 'tls::cert_file', pem: tls.certPem, file: tls.certFile },
    { name: 'key', setting: 'tls::key_file', pem: tls.keyPem, file: tls.keyFile },
    { name: 'ca', setting: 'tls::client_ca_file', file: tls.clientCaFile },
  ]
  const asksForCertificate = tls.clientCaFile !== undefined
  try {
    return new FollowedFiles({
      files: filesOf(parts),
      intervalMs: tls.reloadIntervalMs ?? 0,
      onTrouble: (reason) => onTrouble(`${owner} ${reason}`),
      make: (contents) => {
        const options = { ...protocolOf(tls), ...assemble(parts, contents) }
        checkUsable(options)
        return {
          ...options,
          requestCert: asksForCertificate,
          rejectUnauthorized: asksForCertificate,
          handshakeTimeout: tls.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
        }
      },
    })
  } catch (cause) {
    throw new Error(`${owner} ${errorText(cause)}`, { cause })
  }
}

/** Has the server use every change of the files for as long as it lives. */
export function followCertificates(server: SecuredServer, secured: FollowedFiles<ServerTlsOptions>): void {
  secured.onChange((options) => server.setSecureContext(options))
  server.on('close', () => secured[Symbol.dispose]())
}

function checkUsable(options: SecureContextOptions): void {
  try {
    createSecureContext(options)
  } catch (cause) {
    const advice = 'give a certificate and its own key in PEM form'
    throw new Error(`cannot use its tls certificate and key: ${errorText(cause)}; ${advice}`, { cause })
  }
}
