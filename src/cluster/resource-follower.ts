import type { JsonObject } from '../kubernetes/json-access.ts'

/**
 * How an object came to be seen.
 * - first list: the first one of it that was ever made; what is in it was there before anybody looked.
 * - later list: a list after the stream was lost; what is new in it came while nobody looked.
 * - event: as it changed.
 */
export type Seen = 'first list' | 'later list' | 'event'

export type Change = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Who is told of a resource, object by object: it reads each at once, so that nothing else of it is held. */
export interface ResourceFollower<Item> {
  /** Up to which version it has everything; undefined when it has nothing. */
  position(): Promise<string | undefined>
  /** What is kept of an object; undefined for nothing. Throws a `LeftOut` when the resource cannot be followed at all. */
  read(change: Change, object: JsonObject, seen: Seen): Item | undefined
  /** A list begins, and what was noted of an earlier one that broke off is void. */
  listBegins(): void
  /**
   * Resolves once they are taken; rejects only when everything ends. `version` is how far the stream is read with them;
   * undefined within a list, which begins anew when it breaks off. There may be no items, and only a version.
   */
  take(items: readonly Item[], version: string | undefined): Promise<void>
  /** The list is complete as of `version`: what is not in it does not exist. As `take`. */
  listEnds(version: string, seen: Seen): Promise<void>
}

/** A resource that cannot be followed, for a reason that will not pass. */
export class LeftOut extends Error {}

/** Is told of how a stream fares; must not throw. `stream` is its name. */
export interface StreamObserver {
  /** What there is may be more than what came: it is about to be listed, or its watch is to go on. */
  behind(stream: string): void
  /** It is listed, or its watch goes on; or nothing more is to come of it. */
  level(stream: string): void
  /** A list is complete, and taken. */
  listed(stream: string): void
  /** Everything is listed anew. */
  relisted(stream: string, reason: string): void
  /** The watch goes on in another request. */
  restarted(stream: string): void
  /** It may not be seen, or is not there; undefined once it can be. */
  refused(stream: string, reason: string | undefined): void
  /** The API server does not answer, or nobody is known to it: nothing of the cluster is seen. It is asked again. */
  unreachable(reason: string): void
  /** One object, or a line, cannot be read and is left out; all others are seen. */
  unreadable(stream: string, reason: string): void
  /** Something else is wrong, which is tried again. */
  trouble(stream: string, reason: string): void
}
