import type { IncomingMessage } from 'node:http'
import type { Target } from './http-paths.ts'
import { badRequest, HttpRefusal } from './http-status.ts'
import type { Sent } from './object-store.ts'
import { typeMeta } from './resource-types.ts'

/** As much as the Kubernetes API server takes. */
const MAX_BYTES = 3 * 1024 * 1024

/** The object in a request, which must be one of those that its path leads to. */
export async function readObject(request: IncomingMessage, target: Target): Promise<Sent> {
  const sent = parsed(await bytesOf(request))
  if (!isRecord(sent)) throw badRequest('the body must be an object in JSON')
  const { metadata = {} } = sent
  if (!isRecord(metadata)) throw badRequest('metadata must be an object')
  for (const [key, wanted] of Object.entries(typeMeta(target.resource))) {
    if (sent[key] !== wanted)
      throw badRequest(`${key} must be "${wanted}" here, got ${JSON.stringify(sent[key])}`)
  }
  const name = metadata['name'] ?? target.name ?? ''
  const namespace = metadata['namespace'] ?? target.namespace ?? ''
  if (typeof name !== 'string' || typeof namespace !== 'string') {
    throw badRequest('metadata.name and metadata.namespace must be strings')
  }
  if (target.name !== undefined && name !== target.name) {
    throw badRequest(`the name of the object (${name}) is not the one in the path (${target.name})`)
  }
  if (namespace !== (target.namespace ?? '')) {
    throw badRequest(
      `the namespace of the object (${namespace}) is not the one in the path (${target.namespace ?? ''})`,
    )
  }
  return { ...sent, metadata: { ...metadata, name, namespace } } as Sent
}

/** The uid that a request to delete says the object must have. */
export async function readPreconditions(request: IncomingMessage): Promise<{ uid?: string }> {
  const bytes = await bytesOf(request)
  if (bytes.length === 0) return {}
  const options = parsed(bytes)
  const { preconditions = {} } = isRecord(options) ? options : {}
  const { uid } = isRecord(preconditions) ? preconditions : {}
  if (uid === undefined) return {}
  if (typeof uid !== 'string') throw badRequest('preconditions.uid must be a string')
  return { uid }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  // What is left unread must not keep the refusal from being heard.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_BYTES) {
      throw new HttpRefusal(413, 'RequestEntityTooLarge', `the body is larger than ${MAX_BYTES} bytes`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    throw badRequest(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
