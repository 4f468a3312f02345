import { ApiServer } from '../../../../src/kube/cluster/api-server.ts'
import { ListSlots, Outage } from '../../../../src/kube/cluster/flow-control.ts'
import { DEFAULT_STREAM_LIMITS, ResourceStream } from '../../../../src/kube/cluster/resource-stream.ts'
import { ObjectFollower } from '../../../../src/receiver/k8s-objects/start-k8s-objects.ts'
import { ObservationReporter } from '../../../../src/receiver/observation-reporter.ts'
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
      recorded: none,
      skipped: none,
      unreadable: none,
      relisted: none,
      watched: none,
      refused: none,
    }
    const reporter = new ObservationReporter({
      ...{ port, waiting, observer, cluster: 'test', receiver: 'k8s_objects', stream: STREAM },
      memory: { isRefusing: false },
      onTrouble: none,
    })
    const follower = new ObjectFollower(WIDGETS, reporter, { references: [], fieldValues: 'plain' }, signal)
    const listEnds = follower.listEnds.bind(follower)
    follower.listEnds = async (version) => {
      await listEnds(version)
      this.lists.push(version)
    }
    const refused = (_: string, reason = ''): unknown => this.refused.push(reason)
    const streams = {
      behind: none,
      inSync: none,
      listed: none,
      unreadable: none,
      relisted: none,
      restarted: none,
      refused,
      unreachable: none,
      trouble: none,
    }
    const lists = new ListSlots(1)
    const outage = new Outage()
    const context = {
      server: this.#server,
      lists,
      outage,
      waiting,
      observer: streams,
      limits: DEFAULT_STREAM_LIMITS,
    }
    this.ended = new ResourceStream(WIDGETS, follower, context).run(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.ended
    this.#server[Symbol.dispose]()
  }
}

const none = (): void => undefined
