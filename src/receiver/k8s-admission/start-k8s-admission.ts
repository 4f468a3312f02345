import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { isObject, parseBounded } from '../../kube/objects/object-json.ts'
import { readAdmissionReview } from '../../kube/objects/observations.ts'
import { errorText } from '../../model/faults.ts'
import type { AdmittedRequest, SkipReason } from '../../model/kubernetes-observations.ts'
import { ChildThread } from '../../platform/child-thread.ts'
import type { Authenticator } from '../../platform/credentials.ts'
import { ObservationReporter } from '../observation-reporter.ts'
import type { ReceiverHost, RunningReceiver, SourceObserver, StartedWith } from '../receiver-type.ts'
import type { AdmissionThreadData, AnsweredReview, FromAdmission, ToAdmission } from './admission-webhook.ts'
import type { K8sAdmissionSettings } from './k8s-admission-receiver.ts'

export async function startReceiver(
  { id, settings }: StartedWith<K8sAdmissionSettings>,
  host: ReceiverHost,
): Promise<RunningReceiver> {
  const { cluster, auth, maxBytes, ...listener } = settings
  const { maxConnections, maxConnectionsPerAddress, requestTimeoutMs, shutdownGraceMs } = host
  const reporter = new ObservationReporter({
    ...{ receiver: id, cluster, stream: id, port: host.observationPort },
    ...{ memory: host.memory, observer: host.clusterObserver, onTrouble: host.onTrouble },
  })
  const queue = new AdmittedQueue(id, reporter, host.clusterObserver)
  const { authenticator } = host.authenticatorOf(auth === undefined ? {} : { auth })
  const listening = await AdmissionListener.start({
    ...{ receiver: id, maxBytes, authenticator, onTrouble: host.onTrouble },
    listener: {
      ...{ ...listener, receiver: id },
      ...{ maxConnections, maxConnectionsPerAddress, requestTimeoutMs, shutdownGraceMs },
    },
    ...(authenticator && {
      credentials: { header: authenticator.header, challenge: authenticator.challenge },
    }),
    onEvent: (message, release) => handleEvent(message, release, { id, host, queue }),
  })
  const endpoint = `${listener.host}:${listener.port}`
  host.started('Starting admission webhook', { endpoint, 'otelcol.component.id': id, cluster })
  const way = {
    transport: 'http',
    get connections() {
      return listening.connections
    },
  }
  return {
    listeners: [way],
    async [Symbol.asyncDispose]() {
      await listening[Symbol.asyncDispose]()
      await queue[Symbol.asyncDispose]()
    },
  }
}

function handleEvent(
  message: AdmissionEvent,
  release: () => void,
  { id: receiver, host, queue }: { id: string; host: ReceiverHost; queue: AdmittedQueue },
): void {
  const from = { receiver, transport: 'http' }
  const { clusterObserver: clusters, observer, memory } = host
  switch (message.kind) {
    case 'answered':
      if (memory.isRefusing) {
        release()
        clusters.lost(receiver, 1)
      } else queue.add({ ...message, release })
      return
    case 'unreadable':
      clusters.unreadable(receiver, 1, message.reason)
      return
    case 'lost':
      clusters.lost(receiver, 1)
      return
    case 'turnedAway':
      observer.unauthenticated({ ...from, reason: message.reason })
      return
    case 'dropped':
      observer.dropped({ ...from, reason: message.reason })
      return
    case 'unread':
      observer.unread(from)
      return
    case 'trouble':
      host.onTrouble(message.reason)
  }
}

/** How long to wait before a thread that ended unexpectedly is restarted. */
const AGAIN_MS = 1_000

type AdmissionThread = ChildThread<ToAdmission, FromAdmission>
/** The messages of a thread that AdmissionListener passes on. */
type AdmissionEvent = Exclude<
  FromAdmission,
  { kind: 'ready' | 'fatal' | 'check' | 'connections' | 'stopped' }
>

interface AdmissionListenerSettings extends AdmissionThreadData {
  /** The id of the receiver. */
  readonly receiver: string
  readonly authenticator: Authenticator | undefined
  /** Called with each message. For a review, it calls `release` when the review is processed. */
  readonly onEvent: (message: AdmissionEvent, release: () => void) => void
  readonly onTrouble: (reason: string) => void
}

/**
 * Answers reviews on a thread of its own, so that an answer does not wait for other work of this process. A thread that ends
 * unexpectedly is restarted. Disposing lets requests in flight finish.
 */
class AdmissionListener implements AsyncDisposable {
  readonly #settings: AdmissionListenerSettings
  readonly #stop = new AbortController()
  #thread: AdmissionThread
  #connections = 0
  /** Resolves when the last thread has ended. */
  readonly #life: Promise<void>

  private constructor(thread: AdmissionThread, settings: AdmissionListenerSettings) {
    this.#settings = settings
    this.#thread = thread
    this.#life = this.#live()
  }

  /** Rejects with what to do when it cannot listen. */
  static async start(settings: AdmissionListenerSettings): Promise<AdmissionListener> {
    return new AdmissionListener(await startThread(settings), settings)
  }

  /** How many connections were open a moment ago. */
  get connections(): number {
    return this.#connections
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#thread.post({ kind: 'stop' })
    await this.#life
  }

  async #live(): Promise<void> {
    const { receiver, onTrouble } = this.#settings
    const { signal } = this.#stop
    for (;;) {
      const thread = this.#thread
      thread.listen((message) => this.#handle(thread, message))
      const why = await thread.ended
      this.#connections = 0
      if (signal.aborted) return
      onTrouble(
        `${receiver}: the thread that answers admissions ended by itself (${why}); another is started`,
      )
      const next = await this.#next()
      if (next === undefined) return
      this.#thread = next
    }
  }

  /** Restarts the thread, with retries; undefined once disposed. */
  async #next(): Promise<AdmissionThread | undefined> {
    const { onTrouble } = this.#settings
    const { signal } = this.#stop
    for (;;) {
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return undefined
      try {
        const next = await startThread(this.#settings)
        if (this.#isStopping()) next.post({ kind: 'stop' })
        return next
      } catch (error) {
        onTrouble(errorText(error))
      }
    }
  }

  #isStopping(): boolean {
    return this.#stop.signal.aborted
  }

  #handle(thread: AdmissionThread, message: FromAdmission): void {
    switch (message.kind) {
      case 'ready':
      case 'fatal':
        return
      case 'check':
        void this.#check(thread, message)
        return
      case 'connections':
        this.#connections = message.count
        return
      case 'stopped':
        thread.terminate()
        return
      case 'answered':
        this.#settings.onEvent(message, () => thread.post({ kind: 'released', id: message.id }))
        return
      case 'unreadable':
      case 'lost':
      case 'turnedAway':
      case 'dropped':
      case 'unread':
      case 'trouble':
        this.#settings.onEvent(message, () => undefined)
    }
  }

  async #check(
    thread: AdmissionThread,
    { id, value, peer }: Extract<FromAdmission, { kind: 'check' }>,
  ): Promise<void> {
    const checked = await this.#settings.authenticator?.check(value, peer)
    if (checked !== undefined) thread.post({ kind: 'checked', id, checked })
  }
}

async function startThread({
  listener,
  maxBytes,
  credentials,
}: AdmissionThreadData): Promise<AdmissionThread> {
  const data: AdmissionThreadData = { listener, maxBytes, ...(credentials && { credentials }) }
  const { thread } = await ChildThread.start<ToAdmission, FromAdmission>({
    name: 'admission',
    file: new URL('./admission-thread.ts', import.meta.url),
    data,
    youngMib: 4,
    oldMib: 256,
  })
  return thread
}

/** How many reviews are reported at a time. */
const BATCH = 200
/** How many observations are kept for a retry. The writes of older ones are decided before they could be reported. */
const MAX_WAITING = 5_000
const RETRY_MS = 500

/** Reads and reports reviews after they are answered, so that no API server waits for it. */
class AdmittedQueue implements AsyncDisposable {
  readonly #receiver: string
  readonly #reporter: Pick<ObservationReporter, 'report'>
  readonly #observer: SourceObserver
  readonly #stop = new AbortController()
  #answered: AnsweredReview[] = []
  #observations: AdmittedRequest[] = []
  #skipped: Partial<Record<SkipReason, number>> = {}
  #working: Promise<void> | undefined

  constructor(receiver: string, reporter: Pick<ObservationReporter, 'report'>, observer: SourceObserver) {
    this.#receiver = receiver
    this.#reporter = reporter
    this.#observer = observer
  }

  add(answered: AnsweredReview): void {
    if (this.#answered.length >= MAX_WAITING) {
      answered.release()
      this.#observer.lost(this.#receiver, 1)
      return
    }
    this.#answered.push(answered)
    this.#working ??= this.#work().finally(() => (this.#working = undefined))
  }

  /** Tries once more to report the rest, then drops it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#answered.length + this.#observations.length > 0) {
      const some = this.#answered.splice(0, BATCH)
      for (const answered of some) {
        // Reviews that arrive meanwhile are answered first.
        await nextTurn()
        this.#read(answered)
        answered.release()
      }
      await this.#report()
    }
  }

  #read({ body, seenNs, traceparent }: AnsweredReview): void {
    try {
      const review = parseBounded(Buffer.from(body.buffer))
      const read = isObject(review) ? readAdmissionReview(review, { seenNs, traceparent }) : 'no_object'
      if (typeof read === 'string') this.#skipped[read] = (this.#skipped[read] ?? 0) + 1
      else this.#observations.push(read)
    } catch (error) {
      this.#observer.unreadable(this.#receiver, 1, `a review cannot be read: ${errorText(error)}`)
    }
  }

  async #report(): Promise<void> {
    const [observations, skipped] = [this.#observations, this.#skipped]
    this.#observations = []
    this.#skipped = {}
    const outcome = await this.#reporter.report({ observations, skipped })
    if (outcome.kind === 'stored') return
    const { signal } = this.#stop
    this.#keep(observations, signal.aborted ? 0 : MAX_WAITING)
    this.#skipped = skipped
    const afterMs = outcome.kind === 'busy' ? outcome.retryAfterMs : RETRY_MS
    await sleep(afterMs, undefined, { signal }).catch(() => undefined)
  }

  /** Keeps the newest observations for the next attempt. */
  #keep(observations: AdmittedRequest[], most: number): void {
    const kept = most === 0 ? [] : observations.slice(-most)
    if (kept.length < observations.length)
      this.#observer.lost(this.#receiver, observations.length - kept.length)
    this.#observations = kept
  }
}
