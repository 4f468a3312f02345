import { AUDIT_ID, NAMESPACE_NAME, POD_NAME, POD_UID } from '../../model/attributes.ts'
import type { NamedByItself } from '../../model/ports/linking/joins.ts'
import { MalformedOtlp } from './malformed.ts'
import { readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const ATTRIBUTES = 9
/** Under which names API servers tell of the method: of the request, of its handling, of writing the answer. */
const METHODS: ReadonlySet<string> = new Set(['http.request.method', 'http.method', 'verb', 'method'])
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'LIST', 'WATCH'])

/** What a stored span of an API server or a kubelet says it belongs to. */
export function readNamed(span: Buffer): NamedByItself {
  const said = new Map<string, string>()
  try {
    readInto(said, span)
  } catch (error) {
    if (!(error instanceof MalformedOtlp)) throw error
  }
  const method = [...METHODS].map((name) => said.get(name)).find((one) => one !== undefined) ?? ''
  const [uid, name, namespace] = [POD_UID, POD_NAME, NAMESPACE_NAME].map((key) => said.get(key) ?? '')
  return {
    auditId: said.get(AUDIT_ID),
    reads: READING.has(method.toUpperCase()),
    pod: uid && name && namespace ? { uid, object: `v1/pods/${namespace}/${name}` } : undefined,
  }
}

/** Where an attribute is there more than once the first counts. */
function readInto(said: Map<string, string>, span: Buffer): void {
  const cursor = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field !== ATTRIBUTES || cursor.wire !== 2) continue
    const { key, value } = readAttribute(span, cursor.start, cursor.end)
    if (typeof value === 'string' && value !== '' && !said.has(key)) said.set(key, value)
  }
}
