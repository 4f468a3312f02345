import { ApiServer } from '../../../../src/cluster/api-server.ts'
import { ListPlaces } from '../../../../src/cluster/list-places.ts'
import { Outage } from '../../../../src/cluster/waiting.ts'
import { ResourceStream, USUAL_LIMITS } from '../../../../src/cluster/resource-stream.ts'
import { ObjectFollower } from '../../../../src/receiver/k8s-objects/object-follower.ts'
import { noWaiting, WIDGETS } from '../../../cluster/support/followed.ts'
import type { TestApiServer } from '../../../cluster/support/test-api-server.ts'
import type { MemoryObservations } from './memory-observations.ts'

/** The stream of widgets, as it is told of. */
export const STREAM = 'k8s_objects example.com/v1/widgets'

/** One run of a receiver that watches widgets; nobody has to wait. */
export class Watching implements AsyncDisposable {
  /** The versions of the lists that were completed. */
  readonly lists: string[] = []
  readonly #server: ApiServer
  readonly #stop = new AbortController()
  readonly refused: string[] = []
  readonly ended: Promise<void>

  constructor(api: TestApiServer, port: MemoryObservations) {
    this.#server = new ApiServer(api.access)
    const waiting = noWaiting()
    const { signal } = this.#stop
    const observer = {
      told: none,
      skipped: none,
      unreadable: none,
      relisted: none,
      watched: none,
      refused: none,
    }
    const follower = new ObjectFollower(WIDGETS, {
      ...{ port, waiting, signal, observer, cluster: 'test', receiver: 'k8s_objects' },
      memory: { isRefusing: false },
      references: [],
      onTrouble: none,
    })
    const listEnds = follower.listEnds.bind(follower)
    follower.listEnds = async (version) => {
      await listEnds(version)
      this.lists.push(version)
    }
    const refused = (_: string, reason = ''): unknown => this.refused.push(reason)
    const streams = {
      behind: none,
      level: none,
      listed: none,
      unreadable: none,
      relisted: none,
      restarted: none,
      refused,
      unreachable: none,
      trouble: none,
    }
    const lists = new ListPlaces(1)
    const outage = new Outage()
    const context = { server: this.#server, lists, outage, waiting, observer: streams, limits: USUAL_LIMITS }
    this.ended = new ResourceStream(WIDGETS, follower, context).run(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.ended
    this.#server[Symbol.dispose]()
  }
}

const none = (): void => undefined
