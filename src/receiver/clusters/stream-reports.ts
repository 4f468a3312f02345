import type { StreamObserver } from '../../cluster/resource-follower.ts'
import type { ClusterObserver } from './cluster-observer.ts'

/** What the streams of a cluster meet, as metrics and as sentences for an operator. */
export class StreamReports implements StreamObserver {
  readonly #receiver: string
  readonly #cluster: string
  readonly #address: string
  readonly #observer: ClusterObserver
  readonly #onTrouble: (reason: string) => void
  readonly #refused = new Set<string>()

  constructor(
    { receiver, cluster, address }: { receiver: string; cluster: string; address: string },
    observer: ClusterObserver,
    onTrouble: (reason: string) => void,
  ) {
    this.#receiver = receiver
    this.#cluster = cluster
    this.#address = address
    this.#observer = observer
    this.#onTrouble = onTrouble
  }

  relisted(stream: string, reason: string): void {
    this.#observer.relisted(this.#receiver)
    this.#say(`${stream} of the cluster ${this.#cluster} is listed anew: ${reason}`)
  }

  restarted(): void {
    this.#observer.watched(this.#receiver)
  }

  refused(stream: string, reason: string | undefined): void {
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
