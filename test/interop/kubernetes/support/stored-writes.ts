import type { Causeway } from '../../support/causeway.ts'
import { isOfStory, serviceShown, whatBegan, type Told, type ToldCascade } from './told.ts'

/** A span in one of its cascades. */
interface CascadeSpan {
  root: string
  span: string
  parent: string
  cause: string
  name: string
  service: string
  actor: string
  gap: string
  /** What its cascade drove, and no copy of what another did. */
  driven: 0 | 1
}

interface Written {
  span: string
  cpid: string
  object: string
  uid: string
  version: string | number | null
}

/** A write of an observed cluster, as its span tells of it. */
interface StoredWrite extends Written {
  /** `deployments`, of whatever group. */
  readonly resource: string
  readonly namespace: string
  readonly objectName: string
  readonly verb: string
}

/** All that a Causeway stored of the writes of a cluster, asked of its database as auditors do. */
export class StoredWrites {
  readonly all: readonly StoredWrite[]
  readonly #spans: readonly CascadeSpan[]
  readonly #causes: ReadonlyMap<string, string>
  readonly #bySpan: ReadonlyMap<string, StoredWrite>
  readonly #sources: ReadonlyMap<string, readonly { source: string }[]>
  readonly #roots = new Map<string, ReadonlySet<string>>()

  constructor(causeway: Causeway) {
    this.#spans = causeway.stored<CascadeSpan>(
      `SELECT root, span_id AS span, parent_span_id AS parent, cause, name, service, actor, gap,
         activity = 'yes' AND copy = 'no' AS driven
       FROM audit_cascade_spans WHERE cause IS NOT NULL ORDER BY start, span_id`,
    )
    const names = new Map(this.#spans.map(({ span, name }) => [span, name]))
    this.#causes = new Map(this.#spans.map(({ span, cause }) => [span, cause]))
    this.all = causeway
      .stored<Written>(
        `SELECT span_id AS span, cpid, object, object_uid AS uid, object_version AS version
         FROM audit_attributed_object_events WHERE action = 'wrote' AND cause IS NOT NULL`,
      )
      .map((written) => ({ ...written, ...partsOf(written.object), verb: verbOf(names.get(written.span)) }))
    this.#bySpan = new Map(this.all.map((write) => [write.span, write]))
    const edges = causeway.stored<{ source: string; cpid: string }>('SELECT source, cpid FROM audit_edges')
    this.#sources = Map.groupBy(edges, ({ cpid }) => cpid)
  }

  /** `operator`, `self`, `exact` or `inferred`. */
  causeOf(span: string): string | undefined {
    return this.#causes.get(span)
  }

  /** The changes that one descends from and that descend from none. */
  rootsOf(cpid: string): ReadonlySet<string> {
    const known = this.#roots.get(cpid)
    if (known !== undefined) return known
    const sources = this.#sources.get(cpid) ?? []
    const roots = sources.length === 0 ? [cpid] : sources.flatMap(({ source }) => [...this.rootsOf(source)])
    const found = new Set(roots)
    this.#roots.set(cpid, found)
    return found
  }

  /** What was told of everything in a namespace, and of objects of the whole cluster that are named after it. */
  of(namespace: string): Told {
    const here = this.#spans.filter(({ span }) => isIn(this.#bySpan.get(span), namespace))
    const driven = Map.groupBy(
      here.filter(({ driven }) => driven === 1),
      ({ root }) => root,
    )
    const began = new Map(
      here.flatMap(({ cause, root, span }) => {
        const write = this.#bySpan.get(span)
        if (write?.cpid !== root || (cause !== 'operator' && cause !== 'self')) return []
        const what = whatBegan(write.verb, write.resource, write.objectName)
        return [[root, cause === 'self' ? `by itself: ${what}` : what] as const]
      }),
    )
    return {
      cascades: [...began].flatMap(([root, what]) =>
        isOfStory(what) ? [this.#cascadeOf(what, driven.get(root) ?? [])] : [],
      ),
      rootsOf: (resource) => {
        const of = this.all.filter((write) => isIn(write, namespace) && write.resource === resource)
        const newest = new Map(of.sort(byVersion).map((write) => [write.uid, write]))
        const lists = [...newest.values()].map(({ cpid }) =>
          [...this.rootsOf(cpid)].map((root) => nameOfRoot(began.get(root))).sort(),
        )
        return [...new Map(lists.map((list) => [list.join(), list])).values()].sort(byText)
      },
    }
  }

  #cascadeOf(began: string, spans: readonly CascadeSpan[]): ToldCascade {
    const objects = new Set(spans.map(({ span }) => this.#bySpan.get(span)).map(objectKey))
    const counts = Map.groupBy(objects, (object) => object.split(' ', 1).join())
    const hung = spans.flatMap((one) => {
      const isStatus = one.name.startsWith('update ') && one.name.endsWith(' status')
      return isStatus || one.cause === 'operator' || one.cause === 'self'
        ? []
        : [[this.#shown(one.span), this.#shown(one.parent)]]
    })
    const below = [...Map.groupBy(hung, ([what = '']) => what)].map(([what, of]) => [
      what,
      [...new Set(of.map(([, parent = '']) => parent))].sort(),
    ])
    return {
      began,
      by: spans.find(({ cause }) => cause === 'operator')?.actor ?? '',
      services: [...new Set(spans.map(({ service }) => serviceShown(service)))].sort(),
      objects: Object.fromEntries([...counts].map(([resource, of]) => [resource, of.length])),
      below: Object.fromEntries(below) as Record<string, string[]>,
      hasGaps: spans.some(({ gap }) => gap === 'yes'),
    }
  }

  /** `create pods` */
  #shown(span: string): string {
    const write = this.#bySpan.get(span)
    return write === undefined ? 'nothing' : `${write.verb} ${write.resource}`
  }
}

/** `apps/v1/deployments/shop/web`: groups have a dot or a version behind them, resources neither. */
function partsOf(object: string): Pick<StoredWrite, 'resource' | 'namespace' | 'objectName'> {
  const parts = object.split('/')
  const [resource = '', ...within] = parts.slice(parts.findIndex((part) => /^v\d/.test(part)) + 1)
  const objectName = within.pop() ?? ''
  return { resource, namespace: within.join(), objectName }
}

function verbOf(span = ''): string {
  return span.split(' ', 1).join()
}

function nameOfRoot(began = 'what nobody began'): string {
  return isOfStory(began) ? began : 'what nobody began'
}

function objectKey(write: StoredWrite | undefined): string {
  return `${write?.resource} ${write?.uid}`
}

/** Objects of the whole cluster are named after the namespace whose story they play in. */
function isIn(write: StoredWrite | undefined, story: string): boolean {
  if (write === undefined) return false
  const { namespace, objectName } = write
  return namespace === story || (namespace === '' && `${objectName}-`.startsWith(`${story}-`))
}

const byVersion = (one: StoredWrite, other: StoredWrite): number =>
  Number(one.version ?? 0) - Number(other.version ?? 0)

const byText = (one: readonly string[], other: readonly string[]): number =>
  one.join() < other.join() ? -1 : 1
