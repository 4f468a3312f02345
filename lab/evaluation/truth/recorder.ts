import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createGzip, type Gzip } from 'node:zlib'
import type { KubeApi, WatchLine } from '../../harness/kubernetes/kube-api.ts'

export interface Condition {
  readonly type: string
  readonly status: string
}

/** What is looked at of an object that is recorded. */
export interface SeenObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
  }
  readonly status?: { readonly conditions?: readonly Condition[] }
}

interface ResourceList {
  resources: { name: string; verbs: string[] }[]
}

interface GroupList {
  groups: { preferredVersion: { groupVersion: string }; versions: { groupVersion: string }[] }[]
}

interface Waiting {
  fits: (object: SeenObject) => boolean
  resolve: (object: SeenObject) => void
}

/** They are written all the time, and mean nothing to anybody. */
const LEFT_OUT = new Set(['events', 'leases', 'leasecandidates'])
/** All that is there comes first, and a bookmark behind it. */
const WATCH =
  'watch=true&timeoutSeconds=7200&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
const LONGEST_QUIET_MS = 120_000

/** Keeps every version of every object of a cluster that its watches tell, a JSON object a line, packed. */
export class Recorder implements AsyncDisposable {
  readonly #over = new AbortController()
  readonly #packed: Gzip
  readonly #file: WriteStream
  readonly #waiting = new Set<Waiting>()
  readonly #lastMs = new Map<string, number>()
  readonly #watches: Promise<void>[] = []
  #versions = 0

  private constructor(path: string) {
    this.#packed = createGzip()
    this.#file = createWriteStream(path)
    this.#packed.pipe(this.#file)
  }

  /** Resolves once every resource that the cluster has now is watched, and what was there has been told. */
  static async start(api: KubeApi, path: string): Promise<Recorder> {
    const recorder = new Recorder(path)
    const told = (await watchable(api)).map((path) => {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      recorder.#watches.push(recorder.#watch(api, path, () => resolve(undefined)))
      return promise
    })
    await Promise.all(told)
    return recorder
  }

  /** How many it has kept. */
  get versions(): number {
    return this.#versions
  }

  /** The next object that is told of and that fits. */
  next(fits: (object: SeenObject) => boolean): Promise<SeenObject> {
    const { promise, resolve } = Promise.withResolvers<SeenObject>()
    this.#waiting.add({ fits, resolve })
    return promise
  }

  /** Resolves once nothing has been told of a story for so long. */
  async quiet(story: string, quietMs: number): Promise<void> {
    await pause(quietMs)
    const keys = [story, prefixOf(story)]
    const deadlineMs = performance.now() + LONGEST_QUIET_MS
    for (;;) {
      const lastMs = Math.max(...keys.map((key) => this.#lastMs.get(key) ?? 0))
      const leftMs = lastMs + quietMs - performance.now()
      if (leftMs <= 0) return
      if (performance.now() > deadlineMs) throw new Error(`${story} does not come to rest`)
      await pause(leftMs)
    }
  }

  /** Ends the watches; all is in the file then. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await Promise.all(this.#watches)
    this.#packed.end()
    await once(this.#file, 'close')
  }

  async #watch(api: KubeApi, path: string, onTold: () => void): Promise<void> {
    const told = (line: WatchLine): void => (line.type === 'BOOKMARK' ? onTold() : this.#keep(line))
    const watching = api.watch(`${path}?${WATCH}`, told, this.#over.signal)
    const ended = await watching.then(
      () => new Error('the server ended it'),
      (error: unknown) => error,
    )
    if (!this.#over.signal.aborted) throw new Error(`the watch of ${path} has a gap`, { cause: ended })
  }

  #keep({ type, object }: WatchLine): void {
    if (type === 'ERROR') throw new Error(`a watch ended: ${JSON.stringify(object)}`)
    this.#packed.write(`${JSON.stringify({ time: new Date().toISOString(), type, object })}\n`)
    this.#versions++
    const seen = object as SeenObject
    const { namespace, name } = seen.metadata
    this.#lastMs.set(namespace ?? prefixOf(name), performance.now())
    for (const waiting of this.#waiting) {
      if (!waiting.fits(seen)) continue
      this.#waiting.delete(waiting)
      waiting.resolve(seen)
    }
  }
}

/** What the names of a story's objects that are in no namespace begin with. */
function prefixOf(name: string): string {
  return name.split('-', 1)[0] ?? name
}

/** The path of every resource that can be watched, each in one version: the preferred one of its group, or the first that has it. */
async function watchable(api: KubeApi): Promise<string[]> {
  const { groups } = await api.get<GroupList>('/apis')
  const others = groups.map(({ preferredVersion, versions }) =>
    [preferredVersion, ...versions].map(({ groupVersion }) => `/apis/${groupVersion}`),
  )
  const paths: string[] = []
  for (const versions of [['/api/v1'], ...others]) {
    const known = new Set(LEFT_OUT)
    for (const version of new Set(versions)) {
      const { resources } = await api.get<ResourceList>(version)
      const watched = resources.filter(
        ({ name, verbs }) => verbs.includes('watch') && !name.includes('/') && !known.has(name),
      )
      for (const { name } of watched) {
        known.add(name)
        paths.push(`${version}/${name}`)
      }
    }
  }
  return paths
}
