import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { ReceiverTls } from './receiver-settings.ts'

/** Certificates and key in PEM form. `ca` vouches for clients and makes their certificates mandatory. */
export interface TlsMaterial {
  cert: Buffer
  key: Buffer
  ca: Buffer | undefined
}

/** Reads what a receiver's TLS settings name; rejects with the setting that is wrong and what to do. */
export async function readTls(receiver: string, tls: ReceiverTls): Promise<TlsMaterial> {
  const cert = await read(receiver, 'cert', tls.certPem, tls.certFile)
  const key = await read(receiver, 'key', tls.keyPem, tls.keyFile)
  const ca =
    tls.clientCaFile === undefined
      ? undefined
      : await read(receiver, 'client_ca', undefined, tls.clientCaFile)
  try {
    createSecureContext({ cert, key, ca })
  } catch (cause) {
    const advice = 'give a certificate and its own key in PEM form'
    throw unusable(`receiver ${receiver} cannot use its tls certificate and key`, advice, cause)
  }
  return { cert, key, ca }
}

async function read(receiver: string, setting: string, pem?: string, file?: string): Promise<Buffer> {
  if (pem !== undefined) return Buffer.from(pem)
  const where = `receiver ${receiver} cannot read tls::${setting}_file`
  try {
    return await readFile(file ?? '')
  } catch (cause) {
    throw unusable(where, 'correct the path', cause)
  }
}

function unusable(what: string, advice: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(`${what}: ${reason}; ${advice}`, { cause })
}
