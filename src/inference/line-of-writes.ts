import type { UnixNanos } from '../model/clock.ts'
import type { ObjectIdentity } from '../model/kubernetes/object-facts.ts'
import type { AuditedRequest, Observation, WatchedVersion } from '../model/kubernetes/observation.ts'
import type { Write } from '../model/kubernetes/write.ts'

export interface LineSettings {
  /** How long streams of other resources may take to catch up. */
  readonly windowNs: bigint
  /** How long it is waited for who wrote; 0 where no source tells. */
  readonly whoWaitNs: bigint
  /** The versions of all objects are watched, so that requests wait for the version that they made. */
  readonly isWatched: boolean
}

interface Pending {
  readonly sinceNs: UnixNanos
  watched?: WatchedVersion | undefined
  audited?: AuditedRequest | undefined
}

/** Puts together what the sources of a cluster tell of each write, and gives writes in order of their versions. */
export class LineOfWrites {
  readonly #settings: LineSettings
  readonly #byKey = new Map<string, Pending>()
  /** Requests whose answer names no version, by object: each joins the version that it made once that is watched. */
  readonly #unversioned = new Map<string, Pending[]>()

  constructor(settings: LineSettings) {
    this.#settings = settings
  }

  /** How many writes wait. */
  get size(): number {
    return (
      this.#byKey.size + [...this.#unversioned.values()].reduce((sum, waiting) => sum + waiting.length, 0)
    )
  }

  add(observation: Observation, nowNs: UnixNanos): void {
    const { object, version } = observation
    if (version === undefined) {
      if (observation.source === 'watch') return
      const waiting = this.#unversioned.get(nameOf(object)) ?? []
      if (waiting.some(({ audited }) => audited?.request.auditId === observation.request.auditId)) return
      waiting.push({ sinceNs: nowNs, audited: observation })
      this.#unversioned.set(nameOf(object), waiting)
      return
    }
    const key = `${object.uid} ${version}`
    const pending = this.#byKey.get(key) ?? { sinceNs: nowNs }
    if (observation.source === 'watch') pending.watched ??= observation
    else pending.audited ??= observation
    this.#byKey.set(key, pending)
  }

  /** The writes that can be decided now, lowest version first; one that waits for its writer holds back all above it. */
  takeDue(nowNs: UnixNanos): Write[] {
    const due: Write[] = []
    for (const [key, pending] of this.#inOrder()) {
      if (!this.#isDue(pending, nowNs)) break
      this.#takeUnversionedBefore(seenNs(pending), pending, due)
      this.#byKey.delete(key)
      due.push(writeOf(pending))
    }
    if (this.#byKey.size === 0) this.#takeUnversionedBefore(nowNs - this.#patienceNs, undefined, due)
    return due
  }

  get #patienceNs(): bigint {
    return this.#settings.isWatched ? this.#settings.whoWaitNs : this.#settings.windowNs
  }

  #inOrder(): [string, Pending][] {
    return [...this.#byKey].sort(([, one], [, other]) => {
      const difference = versionOf(one) - versionOf(other)
      return difference < 0n ? -1 : difference > 0n ? 1 : 0
    })
  }

  #isDue(pending: Pending, nowNs: UnixNanos): boolean {
    const { windowNs, whoWaitNs } = this.#settings
    const waitedNs = nowNs - pending.sinceNs
    if (waitedNs < windowNs) return false
    if (pending.audited !== undefined || waitedNs >= whoWaitNs) return true
    const joined = pending.watched && this.#joined(pending.watched)
    return joined !== undefined
  }

  /** Requests without a version that ended before a moment; those that made `next` become a part of it. */
  #takeUnversionedBefore(untilNs: UnixNanos, next: Pending | undefined, due: Write[]): void {
    if (next?.watched !== undefined && next.audited === undefined) {
      const joined = this.#joined(next.watched)
      if (joined !== undefined) {
        next.audited = joined.audited
        this.#drop(joined)
      }
    }
    const early = [...this.#unversioned.values()]
      .flat()
      .filter(({ audited, sinceNs }) => {
        const ended = audited?.seenNs ?? 0n
        return this.#settings.isWatched ? sinceNs + this.#settings.whoWaitNs <= untilNs : ended <= untilNs
      })
      .sort((one, other) => (seenNs(one) < seenNs(other) ? -1 : 1))
    for (const pending of early) {
      this.#drop(pending)
      due.push(writeOf(pending))
    }
  }

  /** The request that made a watched version, by what both say of it. */
  #joined({ object, gone, facts, seenNs }: WatchedVersion): Pending | undefined {
    return this.#unversioned.get(nameOf(object))?.find(({ audited }) => {
      if (audited === undefined || audited.request.startNs > seenNs + CLOCKS_DIFFER_NS) return false
      if (audited.object.uid !== '' && audited.object.uid !== object.uid) return false
      const { verb, subresource } = audited.request
      if (verb === 'delete') return gone || facts.deleting
      return subresource === 'binding' ? facts.prints.node !== '' : !gone
    })
  }

  #drop(pending: Pending): void {
    if (pending.audited === undefined) return
    const name = nameOf(pending.audited.object)
    const left = (this.#unversioned.get(name) ?? []).filter((one) => one !== pending)
    if (left.length === 0) this.#unversioned.delete(name)
    else this.#unversioned.set(name, left)
  }
}

/** How much the clock of the API server may be ahead of that by which the watch's versions are timed. */
const CLOCKS_DIFFER_NS = 1_000_000_000n

function nameOf({ resource, namespace, name }: ObjectIdentity): string {
  return `${resource}/${namespace}/${name}`
}

function writeOf({ watched, audited }: Pending): Write {
  const one = watched ?? audited
  if (one === undefined) throw new Error('a write that no source told of')
  const facts = watched?.facts ?? audited?.facts
  return {
    object: watched?.object ?? one.object,
    version: watched?.version ?? audited?.version,
    gone: watched?.gone ?? audited?.gone ?? false,
    facts,
    request: audited?.request,
    seenNs: one.seenNs,
    gap: false,
  }
}

function seenNs({ watched, audited }: Pending): UnixNanos {
  return audited?.request.endNs ?? watched?.seenNs ?? 0n
}

function versionOf({ watched, audited }: Pending): bigint {
  return watched?.version ?? audited?.version ?? 0n
}
