import { namespaceOf, objectIn, textIn, type JsonObject } from '../kubernetes/json-access.ts'
import { NANOS_PER_MS } from '../model/clock.ts'
import { isOutOfMemory, reasonOf } from '../model/set-aside.ts'
import { ApiError } from './api-error.ts'
import { ServerSilent, type ApiServer } from './api-server.ts'
import { Handover } from './handover.ts'
import { linesOf, type LongLine } from './json-lines.ts'
import { listPages } from './list-pages.ts'
import type { ListPlaces } from './list-places.ts'
import { Refusals } from './refusals.ts'
import {
  LeftOut,
  type Change,
  type ResourceFollower,
  type Seen,
  type StreamObserver,
} from './resource-follower.ts'
import { readWatchLine } from './read-watch-line.ts'
import { troubleText } from './trouble-text.ts'
import { Pauses, type Outage, type Waiting } from './waiting.ts'
import { acceptOf, nameOfResource, pathOfResource, type WatchedResource } from './watched-resource.ts'

export interface StreamLimits {
  /** Of one object; longer ones are passed over. */
  readonly maxObjectBytes: number
  /** Of a page of a list, where the server does not stream lists. */
  readonly maxPageBytes: number
  /** Read and not taken yet. */
  readonly maxItems: number
  readonly maxBytes: number
  /** How long a watch may be silent, in milliseconds; there is a bookmark every minute. */
  readonly silenceMs: number
  /** How long one request watches. */
  readonly watchMs: number
  /** After how long what is refused for long is asked for again. */
  readonly refusedMs: number
}

export const USUAL_LIMITS: StreamLimits = {
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
  readonly lists: ListPlaces
  readonly waiting: Waiting
  readonly outage: Outage
  readonly observer: StreamObserver
  readonly limits: StreamLimits
}

/** How often a server may say that a version is newer than all it has, before that is believed. */
const TOO_NEW_BELIEVED = 3

/**
 * Follows one resource: lists it, as a stream where the server does that, watches it with bookmarks, goes on from the last version
 * after whatever ended a watch, and lists it anew when that version is no longer kept. Nothing is read while nothing is taken.
 */
export class ResourceStream<Item> {
  readonly name: string
  readonly #watched: WatchedResource
  readonly #follower: ResourceFollower<Item>
  readonly #context: StreamContext
  readonly #handover: Handover<Item>
  readonly #pauses: Pauses
  readonly #refusals: Refusals
  #version: string | undefined
  #seen: Seen
  #streamsLists = true
  /** Counts what came. */
  #moves = 0
  #movesBefore = 0
  #tooNew = 0

  /** `isLate` says that the cluster was watched before the resource came to be: nothing of it was there before anybody looked. */
  constructor(
    watched: WatchedResource,
    follower: ResourceFollower<Item>,
    context: StreamContext,
    isLate = false,
  ) {
    this.name = nameOfResource(watched)
    this.#watched = watched
    this.#follower = follower
    this.#context = context
    this.#handover = new Handover((items, version) => follower.take(items, version), context.limits)
    this.#pauses = new Pauses(context.waiting)
    this.#refusals = new Refusals(context.waiting, context.limits.refusedMs)
    this.#seen = isLate ? 'later list' : 'first list'
  }

  /** Resolves once the signal aborts, or the resource is left out for good. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#runOn(signal)
    } finally {
      this.#context.observer.level(this.name)
    }
  }

  async #runOn(signal: AbortSignal): Promise<void> {
    let isPlaced = false
    while (!signal.aborted)
      try {
        this.#context.observer.behind(this.name)
        if (!isPlaced) {
          this.#version = await this.#follower.position()
          if (this.#version !== undefined) this.#seen = 'later list'
          isPlaced = true
        }
        await this.#follow(signal)
      } catch (error) {
        if (error instanceof LeftOut) {
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

  /** By a list, once it is this one's turn. */
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
    const { waiting, limits } = this.#context
    const begun = waiting.now()
    this.#movesBefore = this.#moves
    await this.#read({ resourceVersion: version }, () => undefined, signal)
    // A server that ends every watch at once is not to be asked again and again.
    const lastedMs = Number(waiting.now() - begun) / Number(NANOS_PER_MS)
    if (this.#moves === this.#movesBefore && lastedMs < limits.watchMs) await this.#pauses.pause(signal)
  }

  async #streamList(listed: () => void, signal: AbortSignal): Promise<void> {
    const query = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
    await this.#read(query, listed, signal)
    if (this.#version === undefined) throw new Error('a list ended before it was complete')
  }

  /** Reads one watch to its end; `listed` is called when the list that it begins with is complete. */
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
    const answer = await server.open(path, { signal, silenceMs, accept: acceptOf(this.#watched, 'watch') })
    this.#isAllowed()
    if (this.#version !== undefined) this.#context.observer.level(this.name)
    try {
      for await (const lines of linesOf(answer, limits.maxObjectBytes)) {
        for (const line of lines)
          if (this.#readLine(line)) {
            await this.#listEnds(this.#version ?? '')
            listed()
          }
        await this.#handover.room()
      }
    } finally {
      answer.destroy()
      this.#context.observer.behind(this.name)
    }
  }

  /** Takes in one line; true when the list that the watch began with is complete. */
  #readLine(text: Buffer | LongLine): boolean {
    const line = readWatchLine(text)
    switch (line.kind) {
      case 'error':
        throw line.error
      case 'unreadable':
        this.#context.observer.unreadable(this.name, line.reason)
        return false
      case 'bookmark':
        this.#moved()
        if (line.isListEnd || this.#version !== undefined) this.#version = line.version
        if (!line.isListEnd && this.#version !== undefined) this.#handover.add(undefined, 0, line.version)
        return line.isListEnd
      case 'change':
        this.#moved()
        this.#add(line.change, line.object, line.bytes, line.version)
        return false
    }
  }

  #add(change: Change, object: JsonObject, bytes: number, version: string | undefined): void {
    const { apiVersion, kind } = this.#watched
    const isListing = this.#version === undefined
    // Items of lists do not say what they are, and metadata alone says that it is metadata.
    const item = this.#readObject(change, { ...object, apiVersion, kind }, isListing ? this.#seen : 'event')
    this.#handover.add(item, bytes, isListing ? undefined : version)
    if (!isListing) this.#version = version
  }

  /** What is kept of an object; nothing of one that cannot be read, which keeps no other from being seen. */
  #readObject(change: Change, object: JsonObject, seen: Seen): Item | undefined {
    try {
      return this.#follower.read(change, object, seen)
    } catch (error) {
      if (error instanceof LeftOut || isOutOfMemory(error)) throw error
      const name = `${namespaceOf(object)}/${textIn(objectIn(object, 'metadata'), 'name')}`
      this.#context.observer.unreadable(
        this.name,
        `left out ${name}, which cannot be read: ${reasonOf(error)}`,
      )
      return undefined
    }
  }

  async #listEnds(version: string): Promise<void> {
    await this.#handover.drained()
    await this.#follower.listEnds(version, this.#seen)
    this.#context.observer.listed(this.name)
    this.#context.observer.level(this.name)
    this.#version = version
    this.#seen = 'later list'
    this.#moved()
    this.#isAllowed()
  }

  #moved(): void {
    this.#moves++
    this.#tooNew = 0
    this.#pauses.over()
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
      this.#context.observer.unreachable(troubleText(error))
      await this.#context.outage.wait(this.#pauses, signal)
    } else await this.#afterAnswer(error, signal)
  }

  async #afterAnswer(error: ApiError, signal: AbortSignal): Promise<void> {
    const { observer } = this.#context
    const isListing = this.#version === undefined
    if (error.isRefusal) {
      if (this.#refusals.areMeant(this.#seen !== 'first list')) {
        observer.level(this.name)
        observer.refused(this.name, error.message)
      }
      await this.#refusals.pause(signal)
      return
    }
    const isTooNewForLong = error.isTooNew && ++this.#tooNew >= TOO_NEW_BELIEVED
    const isLost = error.isExpired || (error.isInvalid && !isListing) || isTooNewForLong
    if (!isLost && error.isGeneral) observer.unreachable(troubleText(error))
    else if (!isLost || isListing) observer.trouble(this.name, error.message)
    else {
      observer.relisted(this.name, error.message)
      this.#version = undefined
      if (this.#moves > this.#movesBefore) return
    }
    await this.#pauses.pause(signal, error.retryAfterMs)
  }
}

/** Asked anew each time: it changes while something is awaited. */
const isOver = (signal: AbortSignal): boolean => signal.aborted

/** It does not know of streamed lists, or takes the request for an ordinary watch. */
function cannotStreamLists(error: unknown): boolean {
  return error instanceof ServerSilent || (error instanceof ApiError && error.isInvalid)
}
