import { buffer } from 'node:stream/consumers'
import { expect, test } from '@jest/globals'
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { ProxyScene } from './support/proxy-scene.ts'

const WEB = '/apis/apps/v1/namespaces/shop/deployments/web'
const JSON_TYPE = 'application/json'
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const MERGE = 'application/merge-patch+json'
const MAGIC = Buffer.from('k8s\0')

/** A message of client-go: texts, and messages in it, by their fields. */
type Message = readonly (readonly [field: number, value: string | Message])[]

function encoded(message: Message): Uint8Array {
  const writer = new BinaryWriter()
  for (const [field, value] of message)
    writer
      .tag(field, WireType.LengthDelimited)
      .bytes(typeof value === 'string' ? Buffer.from(value) : encoded(value))
  return writer.finish()
}

function textAt(bytes: Uint8Array, way: readonly number[]): string | undefined {
  const [field, ...rest] = way
  if (field === undefined) return Buffer.from(bytes).toString()
  const reader = new BinaryReader(bytes)
  let found: Uint8Array | undefined
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    if (type !== WireType.LengthDelimited) reader.skip(type, number)
    else if (number === field) found = reader.bytes()
    else reader.bytes()
  }
  return found && textAt(found, rest)
}

/** A write for which an object has to be given the change before: what it is, by the version that it is for. */
interface Kind {
  readonly method: string
  readonly path: string
  readonly inJson: (version: string | undefined) => object
  readonly inProtobuf: (version: string | undefined) => Message
  /** Where each of the two has the version. */
  readonly ways: readonly [readonly string[], readonly number[]]
}

const preconditions = (resourceVersion: string | undefined): object => ({
  preconditions: { uid: 'u1', ...(resourceVersion !== undefined && { resourceVersion }) },
})
/** The second field of DeleteOptions is Preconditions: uid and resourceVersion. */
const encodedOptions = (version: string | undefined): Message => [
  [2, [[1, 'u1'], ...(version === undefined ? [] : [[2, version] as const])]],
  [4, 'Background'],
]

const KINDS: readonly Kind[] = [
  {
    ...{ method: 'PUT', path: `${WEB}/status` },
    inJson: (resourceVersion) => ({ metadata: { name: 'web', resourceVersion }, status: {} }),
    // Of ObjectMeta 1 is the name and 6 the resourceVersion; the second field of an object is its spec.
    inProtobuf: (version) => [
      [1, [[1, 'web'], ...(version === undefined ? [] : [[6, version] as const]), [11, 'labels']]],
      [2, 'spec'],
    ],
    ways: [
      ['metadata', 'resourceVersion'],
      [2, 1, 6],
    ],
  },
  {
    ...{ method: 'DELETE', path: WEB },
    inJson: (version) => ({ ...preconditions(version), propagationPolicy: 'Background' }),
    inProtobuf: encodedOptions,
    ways: [
      ['preconditions', 'resourceVersion'],
      [2, 2, 2],
    ],
  },
  {
    ...{ method: 'POST', path: '/api/v1/namespaces/shop/pods/web/eviction' },
    inJson: (version) => ({ metadata: { name: 'web' }, deleteOptions: preconditions(version) }),
    inProtobuf: (version) => [
      [1, [[1, 'web']]],
      [2, encodedOptions(version)],
    ],
    ways: [
      ['deleteOptions', 'preconditions', 'resourceVersion'],
      [2, 2, 2, 2],
    ],
  },
]

function bodyOf(kind: Kind, type: string, version: string | undefined): Buffer {
  if (type === JSON_TYPE) return Buffer.from(JSON.stringify(kind.inJson(version)))
  const unknown: Message = [
    [1, [[1, 'v1']]],
    [2, kind.inProtobuf(version)],
    [4, ''],
  ]
  return Buffer.concat([MAGIC, encoded(unknown)])
}

/** The version that a request is for: a write, or the patch that gives its object the change. */
function namedIn({ ways: [ofKind, fields] }: Kind, type: string, body: Buffer): string | undefined {
  if (type === PROTOBUF) return textAt(body.subarray(MAGIC.length), fields)
  const names = type === MERGE ? ['metadata', 'resourceVersion'] : ofKind
  const content: unknown = JSON.parse(body.toString())
  return names.reduce((at, name) => (at as Record<string, unknown> | undefined)?.[name], content) as
    string | undefined
}

test('a write that is for the version that is there is made, one for another is refused, and all else of it is as it was', async () => {
  const write = fc.record({
    kind: fc.constantFrom(...KINDS),
    type: fc.constantFrom(JSON_TYPE, PROTOBUF),
    current: fc.integer({ min: 100, max: 99_999 }),
    behind: fc.option(fc.nat({ max: 1 }), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(write, async ({ kind, type, current, behind }) => {
      let version = current
      const written: Buffer[] = []
      using scene = await ProxyScene.open(async (request, response) => {
        const { method, headers } = request
        const body = await buffer(request)
        const named = method === 'GET' ? undefined : namedIn(kind, headers['content-type'] ?? '', body)
        if (method === kind.method) written.push(body)
        const isFor = named === undefined || named === String(version)
        if (isFor && method !== 'GET') version++
        response.writeHead(isFor ? 200 : 409, { 'content-type': JSON_TYPE })
        response.end(JSON.stringify({ metadata: { name: 'web', resourceVersion: String(version) } }))
      })
      const lock = behind === undefined ? undefined : String(current - behind)
      const { status } = await scene.send(
        ...([kind.method, kind.path, { 'content-type': type }, bodyOf(kind, type, lock)] as const),
      )
      expect(status).toBe(behind === 1 ? 409 : 200)
      const [last] = written.slice(-1)
      const made = behind === 0 ? String(current + 1) : lock
      expect(last && textsIn(type, last)).toEqual(textsIn(type, bodyOf(kind, type, made)))
    }),
    { numRuns: 60 },
  )
})

/** What a body says, in whatever order. */
function textsIn(type: string, body: Buffer): unknown {
  if (type === JSON_TYPE) return JSON.parse(body.toString())
  return [...body].sort()
}

test('a write whose body cannot be read is not made for a version that is gone by then', async () => {
  const asked: string[] = []
  using scene = await ProxyScene.open((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume()
    response.end('{"metadata":{"name":"web","resourceVersion":"7"}}')
  })
  const yaml = 'metadata: { name: web, resourceVersion: "6" }\nstatus: {}\n'
  await scene.send('PUT', `${WEB}/status`, { 'content-type': 'application/yaml' }, yaml)
  expect(asked).toEqual([`GET ${WEB}`, `PUT ${WEB}/status`])
})
