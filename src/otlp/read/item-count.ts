import { MalformedOtlp } from './malformed.ts'

/** So many items any request may hold, however small they are: several batches of a usual sender. */
export const FREE_ITEMS = 16_384
/** A request may hold one more item for every so many bytes, so that its objects take a fixed multiple of its size. */
export const BYTES_AN_ITEM = 128

/**
 * What an object is made for when a request is read, and how much of an item it is: the ids that a mergelog or a span names are
 * short texts. Attributes, links and other events are left as bytes, however many they are.
 */
const PARTS = {
  resources: 1,
  scopes: 1,
  spans: 1,
  'log records': 1,
  mergelogs: 1,
  references: 0.25,
} as const
export type ItemKind = keyof typeof PARTS

/** Counts the items of one request, and refuses it before more objects are made than its size allows. */
export class ItemCount {
  readonly #bytes: number
  readonly #most: number
  readonly #of = new Map<ItemKind, number>()
  #left: number

  /** `bytes` is the size of the request, uncompressed. */
  constructor(bytes: number) {
    this.#bytes = bytes
    this.#most = FREE_ITEMS + Math.floor(bytes / BYTES_AN_ITEM)
    this.#left = this.#most
  }

  /** Counts an item that is about to be made. Throws MalformedOtlp when they are too many. */
  add(kind: ItemKind): void {
    this.#left -= PARTS[kind]
    this.#of.set(kind, (this.#of.get(kind) ?? 0) + 1)
    if (this.#left < 0) throw new MalformedOtlp(this.#sentence())
  }

  #sentence(): string {
    const found = [...this.#of].map(([kind, count]) => `${count} ${kind}`).join(', ')
    return (
      `the request has ${this.#bytes} bytes, for which at most ${this.#most} items are taken ` +
      `(${FREE_ITEMS}, and one for every ${BYTES_AN_ITEM} bytes), and begins with ${found}: ` +
      'leave out what is empty, or send fewer items in a request'
    )
  }
}
