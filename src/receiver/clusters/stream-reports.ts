import type { StreamObserver } from '../../cluster/resource-follower.ts'
import type { ClusterObserver } from './cluster-observer.ts'

/** What the streams of a cluster meet, as metrics and as sentences for an operator. */
export class StreamReports implements StreamObserver {
  readonly #receiver: string
  readonly #cluster: string
  readonly #address: string
  readonly #observer: ClusterObserver
  readonly #onTrouble: (reason: string) => void
  readonly #onAllSeen: (streams: number) => void
  readonly #onBehind: (isBehind: boolean) => void
  readonly #behind = new Set<string>()
  readonly #refused = new Set<string>()
  /** Those that were begun and of which nothing is known yet; undefined before any was. */
  #awaited: Set<string> | undefined
  #begun = 0

  constructor(
    { receiver, cluster, address }: { receiver: string; cluster: string; address: string },
    observer: ClusterObserver,
    onTrouble: (reason: string) => void,
    onAllSeen: (streams: number) => void = () => undefined,
    onBehind: (isBehind: boolean) => void = () => undefined,
  ) {
    this.#receiver = receiver
    this.#cluster = cluster
    this.#address = address
    this.#observer = observer
    this.#onTrouble = onTrouble
    this.#onAllSeen = onAllSeen
    this.#onBehind = onBehind
  }

  /** Once each of them is listed, or refused, that is told; of later ones it is not. */
  begun(streams: readonly string[]): void {
    if (this.#awaited !== undefined) return
    this.#awaited = new Set(streams)
    this.#begun = streams.length
  }

  behind(stream: string): void {
    this.#behind.add(stream)
    if (this.#behind.size === 1) this.#onBehind(true)
  }

  level(stream: string): void {
    if (this.#behind.delete(stream) && this.#behind.size === 0) this.#onBehind(false)
  }

  listed(stream: string): void {
    if (this.#awaited?.delete(stream) === true && this.#awaited.size === 0) this.#onAllSeen(this.#begun)
  }

  relisted(stream: string, reason: string): void {
    this.#observer.relisted(this.#receiver)
    this.#say(`${stream} of the cluster ${this.#cluster} is listed anew: ${reason}`)
  }

  restarted(stream: string): void {
    this.listed(stream)
    this.#observer.watched(this.#receiver)
  }

  refused(stream: string, reason: string | undefined): void {
    this.listed(stream)
    const isNew = reason !== undefined && !this.#refused.has(stream)
    if (reason === undefined) this.#refused.delete(stream)
    else this.#refused.add(stream)
    this.#observer.refused(this.#receiver, this.#refused.size)
    if (isNew)
      this.#say(
        `${stream} of the cluster ${this.#cluster} is not seen: ${reason}; allow it (causeway doctor says how), or name in objects what to watch`,
      )
  }

  unreachable(reason: string): void {
    this.#say(`the cluster ${this.#cluster} at ${this.#address} is asked again later: ${reason}`)
  }

  trouble(stream: string, reason: string): void {
    this.#say(stream === '' ? reason : `${stream} of the cluster ${this.#cluster}: ${reason}`)
  }

  #say(reason: string): void {
    this.#onTrouble(`${this.#receiver}: ${reason}`)
  }
}
