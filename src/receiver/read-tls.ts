import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { ReceiverTls } from './receiver-settings.ts'

/** Certificates and key in PEM form. `ca` vouches for clients and makes their certificates mandatory. */
export interface TlsMaterial {
  cert: Buffer
  key: Buffer
  ca: Buffer | undefined
}

/** Reads the files a receiver's TLS settings name; rejects with the setting that is wrong and what to do. */
export async function readTls(receiver: string, tls: ReceiverTls): Promise<TlsMaterial> {
  const read = (key: string, file: string): Promise<Buffer> =>
    readFile(file).catch((cause: unknown) => {
      throw unusable(`receiver ${receiver} cannot read tls::${key}`, 'correct the path', cause)
    })
  const cert = await read('cert_file', tls.certFile)
  const key = await read('key_file', tls.keyFile)
  const ca = tls.clientCaFile === undefined ? undefined : await read('client_ca_file', tls.clientCaFile)
  try {
    createSecureContext({ cert, key, ca })
  } catch (cause) {
    const advice = 'give a certificate and its own key in PEM form'
    throw unusable(`receiver ${receiver} cannot use ${tls.certFile} with ${tls.keyFile}`, advice, cause)
  }
  return { cert, key, ca }
}

function unusable(what: string, advice: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(`${what}: ${reason}; ${advice}`, { cause })
}
