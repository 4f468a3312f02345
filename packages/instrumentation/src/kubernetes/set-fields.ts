import { TRACEPARENT_ANNOTATION } from '../context/traceparent-link.ts'
import { type KubernetesObject, recordIn } from '../objects/kubernetes-object.ts'

/** The fields that a version set, by path; undefined for a removed field. */
export type SetFields = ReadonlyMap<string, string | undefined>

/** With more fields than this, the set fields of a version are unknown. */
const MOST_FIELDS = 4_096
const SETS_NOTHING = new Set([
  TRACEPARENT_ANNOTATION,
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
])

const sets = new WeakMap<object, SetFields>()

/** Notes the fields set by a version that its controller has not acted on. Later status writes keep them. */
export function noteSetFields(
  now: KubernetesObject,
  before: KubernetesObject | undefined,
  cpidKey: string,
): void {
  if (!isNotActedOn(now, generationOf(now))) return
  const isSame = before !== undefined && generationOf(before) === generationOf(now)
  const set = isSame ? sets.get(before) : difference(before, now, cpidKey)
  if (set !== undefined) sets.set(now, set)
}

export function setFieldsOf(version: object): SetFields | undefined {
  return sets.get(version)
}

/** Whether a later version still has at least one of the set fields. */
export function isStillSet(set: SetFields, later: KubernetesObject, cpidKey: string): boolean {
  const fields = fieldsOf(later, cpidKey)
  return fields === undefined || [...set].some(([path, value]) => fields.get(path) === value)
}

/** Whether `observedGeneration` shows that the controller has not acted on a generation. */
export function isNotActedOn(object: object, generation: number | undefined): boolean {
  const observed = observedGenerationOf(object)
  return observed !== undefined && generation !== undefined && observed < generation
}

/** Whether `observedGeneration` shows that the controller has acted on a generation. */
export function isActedOn(object: object, generation: number | undefined): boolean {
  const observed = observedGenerationOf(object)
  return observed !== undefined && generation !== undefined && observed >= generation
}

/** The highest `observedGeneration` in the status and its conditions. */
function observedGenerationOf(object: object): number | undefined {
  const status = recordIn(recordIn(object)['status'])
  const conditions: unknown[] = Array.isArray(status['conditions']) ? status['conditions'] : []
  const observed = [status, ...conditions]
    .map((one) => recordIn(one)['observedGeneration'])
    .filter((one) => typeof one === 'number')
  return observed.length === 0 ? undefined : Math.max(...observed)
}

export function generationOf(object: object): number | undefined {
  const { generation } = recordIn(recordIn(object)['metadata'])
  return typeof generation === 'number' ? generation : undefined
}

function difference(
  before: KubernetesObject | undefined,
  now: KubernetesObject,
  cpidKey: string,
): SetFields | undefined {
  const [then, set] = [
    before === undefined ? new Map<string, string>() : fieldsOf(before, cpidKey),
    fieldsOf(now, cpidKey),
  ]
  if (then === undefined || set === undefined) return undefined
  const changed = [...new Set([...set.keys(), ...then.keys()])].filter(
    (path) => set.get(path) !== then.get(path),
  )
  return changed.length === 0 ? undefined : new Map(changed.map((path) => [path, set.get(path)]))
}

/** The fields that an author writes, by path. List entries with a name are identified by it, at any position. */
function fieldsOf(object: KubernetesObject, cpidKey: string): Map<string, string> | undefined {
  const { labels, annotations, finalizers } = recordIn(object.metadata)
  const content = Object.entries(object).filter(
    ([key]) => !['metadata', 'status', 'kind', 'apiVersion'].includes(key),
  )
  const [domain = ''] = cpidKey.split('/', 1)
  const others = Object.entries(recordIn(annotations)).filter(
    ([key]) => !key.startsWith(`${domain}/`) && !SETS_NOTHING.has(key),
  )
  const whole = {
    ...Object.fromEntries(content),
    metadata: { labels, finalizers, annotations: Object.fromEntries(others) },
  }
  const fields = new Map<string, string>()
  const open: [path: string, value: unknown][] = [['', whole]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value] = next
    const entries = entriesOf(value)
    if (entries.length === 0 && value !== undefined) fields.set(path, JSON.stringify(value))
    if (fields.size + open.length + entries.length > MOST_FIELDS) return undefined
    for (const [key, one] of entries) open.push([`${path}/${key}`, one])
  }
  return fields
}

function entriesOf(value: unknown): [string, unknown][] {
  if (!Array.isArray(value)) return Object.entries(recordIn(value))
  return value.map((one, at) => {
    const { name } = recordIn(one)
    return [typeof name === 'string' ? name : String(at), one]
  })
}
