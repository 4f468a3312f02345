import { isOutOfMemory, reasonOf } from '../../model/faults.ts'
import { nanosOfMs, parseRfc3339, type UnixNanos } from '../../model/time-and-size.ts'
import {
  arrayIn,
  isObject,
  type Json,
  type JsonObject,
  linesOf,
  type LongLine,
  namespaceOf,
  objectIn,
  parseBounded,
  textIn,
} from '../objects/object-json.ts'
import { acceptOf, nameOfResource, pathOfResource, type WatchedResource } from './api-resources.ts'
import { AnswerTooLong, ApiError, apiFailureText, type ApiServer, ApiServerTimeout } from './api-server.ts'
import {
  Backoff,
  type BackoffClock,
  OrderedDelivery,
  type ListSlots,
  type Outage,
  RefusalBackoff,
} from './flow-control.ts'

export interface StreamLimits {
  /** The size of one object; larger ones are skipped. */
  readonly maxObjectBytes: number
  /** The size of a page of a list, if the server does not stream lists. */
  readonly maxPageBytes: number
  /** How many items may be read but not taken yet, and their bytes. */
  readonly maxItems: number
  readonly maxBytes: number
  /** How long a watch may be silent, in milliseconds. There is a bookmark every minute. */
  readonly silenceMs: number
  /** How long one watch request lasts. */
  readonly watchMs: number
  /** How long to wait before requesting again what is refused permanently. */
  readonly refusedMs: number
}

export const DEFAULT_STREAM_LIMITS: StreamLimits = {
  maxObjectBytes: 16_777_216,
  maxPageBytes: 4_194_304,
  maxItems: 500,
  maxBytes: 1_048_576,
  silenceMs: 180_000,
  watchMs: 300_000,
  refusedMs: 300_000,
}

/** What the streams of one cluster share. */
export interface StreamContext {
  readonly server: ApiServer
  readonly lists: ListSlots
  readonly waiting: BackoffClock
  readonly outage: Outage
  readonly observer: StreamObserver
  readonly limits: StreamLimits
}

/** A watch that ends sooner has failed. */
const LASTING_NS = nanosOfMs(5_000)

/** Times in objects are in whole seconds. */
const SECOND_NS = nanosOfMs(1_000)

/** After this many "too large resource version" errors in a row the stream relists. */
const TOO_NEW_BELIEVED = 3

/**
 * Follows one resource: lists it (as a stream if the server supports that), watches it with bookmarks, resumes from the last version
 * after a watch ends for whatever reason, and lists again when that version is no longer kept. Stops reading while items are not taken.
 */
export class ResourceStream<Item> {
  readonly name: string
  readonly #watched: WatchedResource
  readonly #follower: ResourceFollower<Item>
  readonly #context: StreamContext
  readonly #handover: OrderedDelivery<Item>
  readonly #pauses: Backoff
  readonly #refusals: RefusalBackoff
  #version: string | undefined
  #seen: SeenThrough
  /** Objects in the first list that were created before then are older than the watch. */
  #watchedSinceNs: UnixNanos | undefined
  #streamsLists = true
  #tooNew = 0
  /** Whether the last watch lasted long enough that the next one may begin at once. */
  #hasLasted = false

  /** `watchedSinceNs`: since when the cluster is watched, if its API server did not name the resource then. */
  constructor(
    watched: WatchedResource,
    follower: ResourceFollower<Item>,
    context: StreamContext,
    watchedSinceNs?: UnixNanos,
  ) {
    this.name = nameOfResource(watched)
    this.#watched = watched
    this.#follower = follower
    this.#context = context
    this.#handover = new OrderedDelivery((items, version) => follower.take(items, version), context.limits)
    this.#pauses = new Backoff(context.waiting)
    this.#refusals = new RefusalBackoff(context.waiting, context.limits.refusedMs)
    this.#seen = watchedSinceNs === undefined ? 'first list' : 'later list'
    this.#watchedSinceNs = watchedSinceNs
  }

  /** Resolves once the signal aborts, or the resource is left out for good. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#runOn(signal)
    } finally {
      this.#context.observer.inSync(this.name)
    }
  }

  async #runOn(signal: AbortSignal): Promise<void> {
    let isPlaced = false
    while (!signal.aborted)
      try {
        this.#context.observer.behind(this.name)
        if (!isPlaced) {
          this.#version = await this.#follower.position()
          if (this.#version !== undefined) this.#noteListed()
          isPlaced = true
        }
        await this.#follow(signal)
      } catch (error) {
        if (error instanceof ResourceNotFollowed) {
          this.#context.observer.refused(this.name, error.message)
          return
        }
        if (!isOver(signal)) await this.#afterFailure(error, signal)
      }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    await this.#handover.drained()
    if (this.#version === undefined) await this.#begin(signal)
    else await this.#watch(this.#version, signal)
  }

  /** Lists, once a list slot is free. */
  async #begin(signal: AbortSignal): Promise<void> {
    const leave = await this.#context.lists.enter()
    try {
      if (isOver(signal)) return
      this.#follower.listBegins()
      if (this.#streamsLists) await this.#streamList(leave, signal)
      else await this.#list(signal)
    } finally {
      leave()
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { server, limits } = this.#context
    for await (const { items, version, isLast } of listPages(server, this.#watched, limits, signal)) {
      for (const object of items) this.#add('ADDED', object, 0, undefined)
      await this.#handover.drained()
      if (isLast) await this.#listEnds(version)
    }
  }

  async #watch(version: string, signal: AbortSignal): Promise<void> {
    this.#context.observer.restarted(this.name)
    await this.#read({ resourceVersion: version }, () => undefined, signal)
    // Backs off from a server that ends every watch soon, whatever it says before.
    if (!this.#hasLasted) await this.#pauses.pause(signal)
  }

  async #streamList(listed: () => void, signal: AbortSignal): Promise<void> {
    const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
    await this.#read(query, listed, signal)
    if (this.#version === undefined) throw new Error('a list ended before it was complete')
  }

  /** Reads one watch to its end. `listed` is called when the list that it begins with is complete. */
  async #read(
    query: Readonly<Record<string, string | boolean>>,
    listed: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { server, limits, waiting } = this.#context
    const { silenceMs } = limits
    const timeoutSeconds = Math.ceil((limits.watchMs * (1 + waiting.random())) / 1_000)
    const whole = { watch: true, allowWatchBookmarks: true, timeoutSeconds, ...query }
    const path = pathOfResource(this.#watched, whole)
    const begun = waiting.now()
    this.#hasLasted = false
    const answer = await server.open(path, { signal, silenceMs, accept: acceptOf(this.#watched, 'watch') })
    this.#isAllowed()
    if (this.#version !== undefined) this.#context.observer.inSync(this.name)
    // A server that does not end the watch in time would keep its list slot.
    const overdue = new ApiServerTimeout('it did not end the watch after timeoutSeconds')
    const timer = setTimeout(() => answer.destroy(overdue), timeoutSeconds * 1_000 + silenceMs)
    try {
      for await (const lines of linesOf(answer, limits.maxObjectBytes)) {
        for (const line of lines)
          if (!('blank' in line) && this.#readLine(line)) {
            await this.#listEnds(this.#version ?? '')
            listed()
          }
        await this.#handover.room()
      }
    } catch (error) {
      if (error !== overdue || this.#version === undefined) throw error
    } finally {
      clearTimeout(timer)
      answer.destroy()
      this.#hasLasted = waiting.now() - begun >= LASTING_NS
      if (this.#hasLasted) this.#pauses.over()
      this.#context.observer.behind(this.name)
    }
  }

  /** Reads one line; true when the list that the watch began with is complete. */
  #readLine(text: Buffer | LongLine): boolean {
    const line = readWatchLine(text)
    switch (line.kind) {
      case 'error':
        throw line.error
      case 'unreadable':
        this.#context.observer.unreadable(this.name, line.reason)
        return false
      case 'bookmark':
        this.#tooNew = 0
        if (line.isListEnd) {
          this.#version = line.version
          return true
        }
        // A watch from an empty version would begin anew, and nothing would mark the gap.
        if (this.#version !== undefined && line.version !== '') {
          this.#version = line.version
          this.#handover.add(undefined, 0, line.version)
        }
        return false
      case 'change':
        this.#tooNew = 0
        this.#add(line.change, line.object, line.bytes, line.version)
        return false
    }
  }

  #add(change: WatchEventType, object: JsonObject, bytes: number, version: string | undefined): void {
    const { apiVersion, kind } = this.#watched
    const isListing = this.#version === undefined
    // List items do not state their kind, and metadata-only items state only that they are metadata.
    const seen = isListing ? this.#seenOf(object) : 'event'
    const item = this.#readObject(change, { ...object, apiVersion, kind }, seen)
    const reached = isListing || version === '' ? undefined : version
    this.#handover.add(item, bytes, reached)
    this.#version = reached ?? this.#version
  }

  /** How a listed object is seen. An aggregated API server that was down at first has objects that are older than the watch. */
  #seenOf(object: JsonObject): SeenThrough {
    if (this.#watchedSinceNs === undefined) return this.#seen
    const createdNs = parseRfc3339(textIn(objectIn(object, 'metadata'), 'creationTimestamp'))
    return createdNs !== undefined && createdNs + SECOND_NS <= this.#watchedSinceNs
      ? 'first list'
      : this.#seen
  }

  #noteListed(): void {
    this.#seen = 'later list'
    this.#watchedSinceNs = undefined
  }

  /** What is kept of an object. An object that cannot be read is skipped, without affecting others. */
  #readObject(change: WatchEventType, object: JsonObject, seen: SeenThrough): Item | undefined {
    try {
      return this.#follower.read(change, object, seen)
    } catch (error) {
      if (error instanceof ResourceNotFollowed || isOutOfMemory(error)) throw error
      const name = `${namespaceOf(object)}/${textIn(objectIn(object, 'metadata'), 'name')}`
      this.#context.observer.unreadable(
        this.name,
        `left out ${name}, which cannot be read: ${reasonOf(error)}`,
      )
      return undefined
    }
  }

  async #listEnds(version: string): Promise<void> {
    if (version === '') {
      this.#version = undefined
      throw new Error('its list has no version from which it could be watched')
    }
    await this.#handover.drained()
    await this.#follower.listEnds(version, this.#seen)
    this.#context.observer.listed(this.name)
    this.#context.observer.inSync(this.name)
    this.#version = version
    this.#noteListed()
    this.#tooNew = 0
    this.#isAllowed()
  }

  #isAllowed(): void {
    this.#context.outage.over()
    if (this.#refusals.over()) this.#context.observer.refused(this.name, undefined)
  }

  async #afterFailure(error: unknown, signal: AbortSignal): Promise<void> {
    if (this.#version === undefined && this.#streamsLists && cannotStreamLists(error)) {
      this.#streamsLists = false
      return
    }
    if (!(error instanceof ApiError)) {
      this.#context.observer.unreachable(apiFailureText(error))
      await this.#context.outage.wait(this.#pauses, signal)
    } else await this.#afterAnswer(error, signal)
  }

  async #afterAnswer(error: ApiError, signal: AbortSignal): Promise<void> {
    const { observer } = this.#context
    const isListing = this.#version === undefined
    if (error.isRefusal) {
      if (this.#refusals.shouldReport(this.#seen !== 'first list')) {
        observer.inSync(this.name)
        observer.refused(this.name, error.message)
      }
      await this.#refusals.pause(signal)
      return
    }
    const isTooNewForLong = error.isTooNew && ++this.#tooNew >= TOO_NEW_BELIEVED
    const isLost = error.isExpired || (error.isInvalid && !isListing) || isTooNewForLong
    if (!isLost && error.isGeneral) observer.unreachable(apiFailureText(error))
    else if (!isLost || isListing) observer.trouble(this.name, error.message)
    else {
      observer.relisted(this.name, error.message)
      this.#version = undefined
      if (this.#hasLasted) return
    }
    await this.#pauses.pause(signal, error.retryAfterMs)
  }
}

/** A function, since `aborted` changes during an await. */
const isOver = (signal: AbortSignal): boolean => signal.aborted

/** The server does not support streamed lists, or treats the request as an ordinary watch. */
function cannotStreamLists(error: unknown): boolean {
  return error instanceof ApiServerTimeout || (error instanceof ApiError && error.isInvalid)
}

/**
 * How an object was seen.
 * - first list: in the first list ever made of its resource; the object may have existed before the watch.
 * - later list: in a list after the stream was lost, or of a resource that the API server did not name at first; what is new in it was made
 *   meanwhile.
 * - event: as it changed.
 */
export type SeenThrough = 'first list' | 'later list' | 'event'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Receives a resource, object by object. It reads each object at once, so that the rest of it is not held. */
export interface ResourceFollower<Item> {
  /** The version up to which it has everything; undefined if it has nothing. */
  position(): Promise<string | undefined>
  /** What is kept of an object; undefined for nothing. Throws a `ResourceNotFollowed` if the resource cannot be followed at all. */
  read(change: WatchEventType, object: JsonObject, seen: SeenThrough): Item | undefined
  /** A list begins. Everything recorded of an earlier, incomplete list is void. */
  listBegins(): void
  /**
   * Resolves once the items are taken. Rejects only when everything ends. `version` is how far the stream is read with them; undefined
   * within a list, which starts again if it breaks off. There may be only a version and no items.
   */
  take(items: readonly Item[], version: string | undefined): Promise<void>
  /** The list is complete as of `version`: objects that are not in it do not exist. Otherwise as `take`. */
  listEnds(version: string, seen: SeenThrough): Promise<void>
}

/** A resource that cannot be followed, for a permanent reason. */
export class ResourceNotFollowed extends Error {}

/** Receives the state of streams; must not throw. `stream` is its name. */
export interface StreamObserver {
  /** The stream may be incomplete: it is about to be listed, or its watch is about to resume. */
  behind(stream: string): void
  /** The list is complete, the watch has resumed, or the stream has ended. */
  inSync(stream: string): void
  /** A list is complete and taken. */
  listed(stream: string): void
  /** Everything is listed again. */
  relisted(stream: string, reason: string): void
  /** The watch continues in a new request. */
  restarted(stream: string): void
  /** It is forbidden or missing; undefined once it can be read. */
  refused(stream: string, reason: string | undefined): void
  /** The API server does not answer or accepts no credential, so nothing of the cluster is seen. It is retried. */
  unreachable(reason: string): void
  /** An object or a line cannot be read and is left out. All others are seen. */
  unreadable(stream: string, reason: string): void
  /** Another error, which is retried. */
  trouble(stream: string, reason: string): void
}

interface Page {
  readonly items: readonly JsonObject[]
  readonly version: string
  readonly isLast: boolean
}

const FIRST_LIMIT = 250
const FEWER = 5

/**
 * Lists page by page, each of at most `maxPageBytes`. A larger page is requested again in smaller pages; a single object may have
 * `maxObjectBytes`. Throws as `ApiServer.json` does, and an ApiError with reason Expired if the list took too long.
 */
async function* listPages(
  server: ApiServer,
  watched: WatchedResource,
  { maxPageBytes, maxObjectBytes }: { maxPageBytes: number; maxObjectBytes: number },
  signal: AbortSignal,
): AsyncGenerator<Page> {
  let limit = FIRST_LIMIT
  let after = ''
  for (;;) {
    const path = pathOfResource(watched, { limit, ...(after !== '' && { continue: after }) })
    const asked = { signal, accept: acceptOf(watched, 'list') }
    let page
    try {
      page = await server.json(path, limit === 1 ? maxObjectBytes : maxPageBytes, asked)
    } catch (error) {
      if (!(error instanceof AnswerTooLong) || limit === 1) throw error
      limit = Math.ceil(limit / FEWER)
      continue
    }
    const metadata = objectIn(page, 'metadata')
    after = textIn(metadata, 'continue')
    yield {
      items: arrayIn(page, 'items').filter(isObject),
      version: textIn(metadata, 'resourceVersion'),
      isLast: after === '',
    }
    if (after === '') return
  }
}

/** The content of one line of a watch. */
type WatchLine =
  | { kind: 'change'; change: WatchEventType; object: JsonObject; version: string; bytes: number }
  /** Nothing changed up to that version. `isListEnd`: the list that the watch began with is complete. */
  | { kind: 'bookmark'; version: string; isListEnd: boolean }
  | { kind: 'error'; error: ApiError }
  | { kind: 'unreadable'; reason: string }

const CHANGES: ReadonlySet<string> = new Set<WatchEventType>(['ADDED', 'MODIFIED', 'DELETED'])
const LIST_END = 'k8s.io/initial-events-end'

export function readWatchLine(line: Buffer | LongLine): WatchLine {
  if ('passedOver' in line)
    return { kind: 'unreadable', reason: `left out an object of more than ${line.passedOver} bytes` }
  const event = parsed(line)
  const type = textIn(event, 'type')
  const object = objectIn(event, 'object')
  if (type === 'ERROR') return { kind: 'error', error: new ApiError(0, object) }
  const metadata = objectIn(object, 'metadata')
  const version = textIn(metadata, 'resourceVersion')
  if (type === 'BOOKMARK') {
    const isListEnd = textIn(objectIn(metadata, 'annotations'), LIST_END) === 'true'
    return { kind: 'bookmark', version, isListEnd }
  }
  if (!CHANGES.has(type)) return { kind: 'unreadable', reason: 'left out a line that is no watch event' }
  return { kind: 'change', change: type as WatchEventType, object, version, bytes: line.length }
}

function parsed(line: Buffer): Json | undefined {
  try {
    const event = parseBounded(line)
    return isObject(event) ? event : undefined
  } catch {
    return undefined
  }
}
