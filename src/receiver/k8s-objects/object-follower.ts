import { LeftOut, type Change, type ResourceFollower, type Seen } from '../../cluster/resource-follower.ts'
import { nameOfResource, type WatchedResource } from '../../cluster/watched-resource.ts'
import type { CustomReference } from '../../model/kubernetes/custom-reference.ts'
import { objectIn, textIn, type JsonObject } from '../../kubernetes/json-access.ts'
import { readVersion } from '../../kubernetes/read-version.ts'
import { readWatchEvent } from '../../kubernetes/read-watch-event.ts'
import type { Skipped, MissingObject, WatchedVersion } from '../../model/kubernetes/observation.ts'
import type { ObservationBatch } from '../../model/kubernetes/observation-batch.ts'
import type { HeldObject } from '../../model/ports/observation-port.ts'
import type { ClusterObserver } from '../clusters/cluster-observer.ts'
import { sendUntilStored, type ObservationSender } from '../clusters/send-until-stored.ts'

export interface ObjectReporter extends ObservationSender {
  /** What has to be read of custom resources beside what all objects have. */
  readonly references: readonly CustomReference[]
  readonly cluster: string
  /** The id of the receiver. */
  readonly receiver: string
  readonly observer: ClusterObserver
  /** Ends what is told again and again. */
  readonly signal: AbortSignal
}

/** Tells of every version of a resource's objects, and of those that went while nobody looked. */
export class ObjectFollower implements ResourceFollower<WatchedVersion> {
  readonly #watched: WatchedResource
  readonly #teller: ObjectReporter
  readonly #stream: string
  #skipped: Partial<Record<Skipped, number>> = {}
  /** The uids in the list that is being made. */
  #listed = new Set<string>()

  constructor(watched: WatchedResource, teller: ObjectReporter) {
    this.#watched = watched
    this.#teller = teller
    this.#stream = `${teller.receiver} ${nameOfResource(watched)}`
  }

  position(): Promise<string | undefined> {
    return this.#teller.port.position(this.#teller.cluster, this.#stream)
  }

  read(change: Change, object: JsonObject, seen: Seen): WatchedVersion | undefined {
    const now = this.#teller.waiting.now()
    // What is listed is there, also where it cannot be read.
    if (seen !== 'event') this.#listed.add(textIn(objectIn(object, 'metadata'), 'uid'))
    const read = readWatchEvent(
      { type: change, object },
      now,
      this.#watched.resource,
      this.#teller.references,
    )
    if (read === 'unversioned')
      throw new LeftOut('its resourceVersions are no integers, by which writes could be put in order')
    if (typeof read === 'string') {
      this.#skipped[read] = (this.#skipped[read] ?? 0) + 1
      return undefined
    }
    return seen === 'event' ? read : { ...read, by: seen }
  }

  listBegins(): void {
    this.#listed = new Set()
  }

  async take(items: readonly WatchedVersion[], version: string | undefined): Promise<void> {
    await this.#tell(items, version)
  }

  async listEnds(version: string): Promise<void> {
    // Of a first list as well: one before it may have broken off, when some of it was told.
    await this.#tellVanished(version)
    this.#listed = new Set()
    await this.#tell([], version)
  }

  async #tellVanished(listVersion: string): Promise<void> {
    const { cluster, port, waiting } = this.#teller
    const { apiVersion, resource, labelSelector, fieldSelector } = this.#watched
    const version = readVersion(listVersion)
    // Objects that no longer match a selector are gone from the list, and not from the cluster.
    if (version === undefined || labelSelector !== '' || fieldSelector !== '') return
    for (let after = ''; ;) {
      const held = await port.held(cluster, apiVersion, resource, after)
      const last = held.at(-1)
      if (last === undefined) return
      const gone = held.filter((object) => this.#isGone(object, version))
      const vanished = gone.map(({ identity }): MissingObject => {
        return { source: 'list', object: identity, version, seenNs: waiting.now() }
      })
      if (vanished.length > 0) await this.#tell(vanished, undefined)
      after = last.identity.uid
    }
  }

  /** Known before the list was made, within what is listed, and not in it. */
  #isGone({ identity, version }: HeldObject, listVersion: bigint): boolean {
    const { namespace } = this.#watched
    const isWithin = namespace === '' || identity.namespace === namespace
    return isWithin && version <= listVersion && !this.#listed.has(identity.uid)
  }

  async #tell(observations: ObservationBatch['observations'], position: string | undefined): Promise<void> {
    const { cluster, receiver, observer, signal } = this.#teller
    const skipped = this.#skipped
    this.#skipped = {}
    const telling = {
      cluster,
      stream: this.#stream,
      observations,
      skipped,
      ...(position !== undefined && { position }),
    }
    await sendUntilStored(this.#teller, telling, signal)
    if (observations.length > 0) observer.told(receiver, observations.length)
    for (const [reason, count] of Object.entries(skipped)) observer.skipped(receiver, reason, count)
  }
}
