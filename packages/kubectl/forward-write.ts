import type { OutgoingHttpHeaders } from 'node:http'
import { type Json, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { annotateBody, lockOf, withLock } from './annotate-body.ts'
import { annotateProtobuf } from './annotate-protobuf.ts'
import { parseExactly } from './exact-json.ts'
import {
  annotationsOf,
  KEYS,
  type KubectlChange,
  noteWrote,
  referenceOf,
  traceparentOf,
} from './kubectl-change.ts'
import { overwritesAll } from './overwritten-fields.ts'
import { bytesAt, type FieldWay, METADATA, RAW, withBytesAt } from './protobuf-fields.ts'
import type { WriteTarget } from './write-target.ts'

/** A complete write request of a program. */
interface WriteRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/** The complete answer of the API server. */
export interface WriteAnswer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
}

/** The answer to a write. Without a change in it, a write that changed nothing is answered with a version that another may have made. */
interface Sent {
  readonly answer: WriteAnswer
  /** The version before the write, empty if unknown; undefined if the command certainly made the version in the answer. */
  readonly before?: string
}

export type SendWrite = (request: WriteRequest) => Promise<WriteAnswer>

/** The field manager by which the inference recognises a person's write when it sees only a watch. */
const MANAGER = 'kubectl-causeway'
const MERGE_PATCH = 'application/merge-patch+json'
const APPLY = 'application/apply-patch'
const NOT_FOUND = 404
/** The field that API servers name when all annotations together are too long. */
const ALL_ANNOTATIONS = 'metadata.annotations'
const PROTOBUF = /\bapplication\/vnd\.kubernetes\.protobuf\b/

/**
 * Sends a write as part of a change: with the annotations in it, or, if it has no place for them, after a patch that sets them on the
 * object (ADR-034). A write that is refused because of the annotations is sent without them.
 */
export async function forwardWrite(
  request: WriteRequest,
  target: WriteTarget,
  change: KubectlChange,
  send: SendWrite,
): Promise<WriteAnswer> {
  const all = { ...request, headers: asJson({ ...request.headers, traceparent: traceparentOf(change) }) }
  const { answer, before } = await sendAnnotated(all, target, change, send)
  note(answer, target, change, before)
  return answer
}

async function sendAnnotated(
  request: WriteRequest,
  target: WriteTarget,
  change: KubectlChange,
  send: SendWrite,
): Promise<Sent> {
  const type = textOf(request.headers, 'content-type')
  const body = parseExactly(request.body.toString())
  const { held, object } = change.merges.get(target.path) ?? {}
  if (held !== undefined && object === undefined && overwritesAll(held, { ...request, type, target, body }))
    change.merges.delete(target.path)
  const annotated = annotatedBody(request, type, body, target, change)
  // An apply carries the annotations only when it creates the object: otherwise they would stay part of the applied configuration.
  if (annotated === undefined || type.startsWith(APPLY)) {
    const write = { ...request, subresource: target.subresource, content: body }
    const lock = versionLockOf(write)
    // With an unreadable lock, the write may require the current version, which the announcing patch would replace.
    const isAnnounced = target.path !== '' && lock !== undefined
    const announced = isAnnounced ? await announce(request, lock, target, change, send) : undefined
    if (announced !== undefined && announced.status < 400) {
      note(announced, target, change)
      const version = lock === '' ? '' : versionIn(announced.body)
      const locked = version === '' ? request.body : withVersionLock(write, version)
      return { answer: await send({ ...request, body: locked }) }
    }
    if (annotated === undefined || announced?.status !== NOT_FOUND)
      return await sendPlain(request, target, send)
  }
  const answer = await send({ ...request, body: annotated })
  return isForAnnotations(answer) ? await sendPlain(request, target, send) : { answer }
}

/** Whether a refusal names an annotation of the change, or the total length of all annotations. */
function isForAnnotations({ status, body }: WriteAnswer): boolean {
  return status >= 400 && status < 500 && [...KEYS, ALL_ANNOTATIONS].some((named) => body.includes(named))
}

/** Sends a write without the change. */
async function sendPlain(request: WriteRequest, { path }: WriteTarget, send: SendWrite): Promise<Sent> {
  if (path === '') return { answer: await send(request) }
  const headers = without('content-type', request.headers)
  const { status, body } = await send({ method: 'GET', path, headers, body: Buffer.alloc(0) })
  const before = status === 200 ? versionIn(body) : ''
  return { answer: await send(request), before }
}

function versionIn(body: Buffer): string {
  return textIn(objectIn(parseExactly(body.toString()), 'metadata'), 'resourceVersion')
}

/** The body with the annotations; undefined where it has no place for them. */
function annotatedBody(
  request: WriteRequest,
  type: string,
  body: Json | undefined,
  target: WriteTarget,
  change: KubectlChange,
): Buffer | undefined {
  const { subresource } = target
  if (subresource !== '' || request.method === 'DELETE') return undefined
  if (PROTOBUF.test(type)) return annotateProtobuf(request.body, annotationsOf(change, target))
  if (body === undefined) return undefined
  const annotated = annotateBody(request.method, type, body, annotationsOf(change, target))
  return annotated === undefined ? undefined : written(annotated)
}

/** Patches the object with the change's annotations only. */
async function announce(
  { headers }: WriteRequest,
  lock: string,
  target: WriteTarget,
  change: KubectlChange,
  send: SendWrite,
): Promise<WriteAnswer> {
  const { path } = target
  const metadata = {
    annotations: annotationsOf(change, target),
    ...(lock !== '' && { resourceVersion: lock }),
  }
  return await send({
    method: 'PATCH',
    path: `${path}?fieldManager=${MANAGER}`,
    headers: { ...headers, 'content-type': MERGE_PATCH },
    body: written({ metadata }),
  })
}

function note(
  { status, body }: WriteAnswer,
  target: WriteTarget,
  change: KubectlChange,
  before?: string,
): void {
  if (status < 200 || status >= 300) return
  const object = parseExactly(body.toString())
  const metadata = objectIn(object, 'metadata')
  const isStatus = textIn(object, 'kind') === 'Status'
  const name = target.name || textIn(metadata, 'name')
  if (name === '') return
  const uid = textIn(metadata, 'uid') || (isStatus ? textIn(objectIn(object, 'details'), 'uid') : '')
  const answered = textIn(metadata, 'resourceVersion')
  if (answered !== '' && answered === before) return
  const version = before === '' ? '' : answered
  const known = [uid && `uid=${uid}`, version && `rv=${version}`].filter((part) => part !== '').join('&')
  const path = referenceOf({ ...target, name })
  const reference = known === '' ? path : `${path}?${known}`
  const merge = change.merges.get(target.path)
  if (merge !== undefined) merge.object ??= reference
  noteWrote(change, reference)
}

/** Asks for an uncompressed JSON answer, since this program reads it. */
export function asJson(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const plain = without('accept-encoding', headers)
  return PROTOBUF.test(textOf(headers, 'accept')) ? { ...plain, accept: 'application/json' } : plain
}

function without(left: string, headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== left))
}

function textOf(headers: OutgoingHttpHeaders, name: 'accept' | 'content-type'): string {
  const { [name]: value } = headers
  return typeof value === 'string' ? value : ''
}

function written(content: Json): Buffer {
  return Buffer.from(JSON.stringify(content))
}

/** A write; `content` is its body if that is JSON. */
interface LockableWrite {
  readonly method: string
  readonly subresource: string
  readonly body: Buffer
  readonly content: Json | undefined
}

/** Protobuf paths of the required resourceVersion: in ObjectMeta, and in the Preconditions of DeleteOptions. */
const OF_OBJECT: FieldWay = [RAW, METADATA, 6]
const OF_DELETION: FieldWay = [RAW, 2, 2]
const OF_EVICTION: FieldWay = [RAW, 2, 2, 2]

/** The resourceVersion that a write requires; empty without one, undefined when its body cannot be read. */
function versionLockOf(write: LockableWrite): string | undefined {
  const { method, body, content } = write
  if (content !== undefined || body.length === 0) return lockOf(content)
  const held = bytesAt(body, wayOf(write))
  if (held !== undefined) return Buffer.from(held).toString()
  // An apply in YAML hardly ever requires a version.
  return bytesAt(body, [RAW]) !== undefined || method === 'PATCH' ? '' : undefined
}

/** The body of the same write with another required version. */
function withVersionLock(write: LockableWrite, version: string): Buffer {
  const { body, content } = write
  if (content !== undefined) return Buffer.from(JSON.stringify(withLock(content, version)))
  return withBytesAt(body, wayOf(write), () => Buffer.from(version)) ?? body
}

function wayOf({ method, subresource }: LockableWrite): FieldWay {
  if (method === 'DELETE') return OF_DELETION
  return subresource === 'eviction' ? OF_EVICTION : OF_OBJECT
}
