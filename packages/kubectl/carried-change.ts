import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterAccess } from '../../src/kube/cluster/cluster-access.ts'
import { ChangeProxy } from './change-proxy.ts'
import { type ChangeMerge, type KubectlChange, writtenMerges } from './kubectl-change.ts'
import type { LocalCertificate } from './local-certificate.ts'
import type { LocalListener } from './local-listener.ts'
import type { OtlpEndpoint } from './otlp-endpoint.ts'
import { type CommandEnd, mergelogRequest, spanRequest, type Reporter } from './told-change.ts'

/** How long sending the span may delay the end of the command. */
const LONGEST_TELLING_MS = 900

interface Carrier {
  readonly access: ClusterAccess
  /** Where the change is reported. */
  readonly endpoint: OtlpEndpoint
  readonly by: Reporter
  /** Where the program connects, with the token. */
  readonly listener: LocalListener
  readonly token: string
  /** Set when the program connects over TLS. */
  readonly tls: LocalCertificate | undefined
}

/** The change of a program behind the proxy: added to its writes, and reported. Disposing ends requests in flight. */
export class CarriedChange implements Disposable {
  readonly #change: KubectlChange
  readonly #endpoint: OtlpEndpoint
  readonly #by: Reporter
  readonly #proxy: ChangeProxy
  readonly #over = new AbortController()
  #hasBegun = false
  /** The merges that were reported with the change. */
  readonly #told = new Set<ChangeMerge>()

  constructor(change: KubectlChange, { access, endpoint, by, listener, token, tls }: Carrier) {
    this.#change = change
    this.#endpoint = endpoint
    this.#by = by
    this.#proxy = new ChangeProxy(access, change, { token, tls }, () => this.#begin())
    listener.takeBy((socket) => this.#proxy.serve(socket))
  }

  /** Whether a program did not trust the proxy's certificate. */
  get isDistrusted(): boolean {
    return this.#proxy.isDistrusted
  }

  /** Reports the end of the command, if it wrote anything. Rejects with the reason if that fails. */
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

  /** Sends mergelogs of new merges. Errors are ignored, since the span repeats them. */
  #begin(): void {
    const fresh = writtenMerges(this.#change).filter((merge) => !this.#told.has(merge))
    if (this.#hasBegun && fresh.length === 0) return
    this.#hasBegun = true
    for (const merge of fresh) this.#told.add(merge)
    const content = mergelogRequest(this.#change, this.#by, fresh)
    this.#endpoint.send('logs', content, this.#over.signal).catch(() => undefined)
  }
}
