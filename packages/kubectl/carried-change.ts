import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterAccess } from '../../src/kube/cluster/cluster-access.ts'
import { ChangeProxy } from './change-proxy.ts'
import { type ChangeMerge, type KubectlChange, writtenMerges } from './kubectl-change.ts'
import type { LocalListener } from './local-listener.ts'
import type { OtlpEndpoint } from './otlp-endpoint.ts'
import { type CommandEnd, mergelogRequest, spanRequest, type Reporter } from './told-change.ts'

/** After the program has ended nobody waits longer. */
const LONGEST_TELLING_MS = 900

export interface Carrier {
  readonly access: ClusterAccess
  /** Where it is told. */
  readonly endpoint: OtlpEndpoint
  readonly by: Reporter
  /** Where the program connects to, showing the token. */
  readonly listener: LocalListener
  readonly token: string
}

/** A change that a program makes by way of this one: put into what is written, and told. Disposing ends what is under way. */
export class CarriedChange implements Disposable {
  readonly #change: KubectlChange
  readonly #endpoint: OtlpEndpoint
  readonly #by: Reporter
  readonly #proxy: ChangeProxy
  readonly #over = new AbortController()
  #hasBegun = false
  /** Merges that are told beside the change. */
  readonly #told = new Set<ChangeMerge>()

  constructor(change: KubectlChange, { access, endpoint, by, listener, token }: Carrier) {
    this.#change = change
    this.#endpoint = endpoint
    this.#by = by
    this.#proxy = new ChangeProxy(access, change, token, () => this.#begin())
    listener.takeBy((socket) => this.#proxy.serve(socket))
  }

  /** Tells how the command ended, where it wrote something. Rejects with the reason why it is not told. */
  async tell(end: CommandEnd): Promise<void> {
    if (this.#change.wrote.length === 0) return
    const { signal } = this.#over
    const content = spanRequest(this.#change, this.#by, end)
    const span = this.#endpoint.send('traces', content, signal)
    const late = delay(LONGEST_TELLING_MS, undefined, { signal }).then(() => {
      throw new Error(`it has not answered within ${LONGEST_TELLING_MS} ms`)
    })
    try {
      await Promise.race([span, late])
    } finally {
      late.catch(() => undefined)
      span.catch(() => undefined)
    }
  }

  [Symbol.dispose](): void {
    this.#over.abort()
    this.#proxy[Symbol.dispose]()
  }

  /** It goes again with the span: that it did not arrive now does not matter. */
  #begin(): void {
    const fresh = writtenMerges(this.#change).filter((merge) => !this.#told.has(merge))
    if (this.#hasBegun && fresh.length === 0) return
    this.#hasBegun = true
    for (const merge of fresh) this.#told.add(merge)
    const content = mergelogRequest(this.#change, this.#by, fresh)
    this.#endpoint.send('logs', content, this.#over.signal).catch(() => undefined)
  }
}
