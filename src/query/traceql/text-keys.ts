import { MIB } from '../../model/time-and-size.ts'
import { createHash } from 'node:crypto'
import { textOf } from './static-values.ts'
import type { Static } from './syntax.ts'

/** Longer texts are replaced by a digest. */
const MOST_PLAIN = 128
/** The most cached digests, and the most characters of their texts together. */
const MOST_REMEMBERED = 16
const MOST_LENGTH = 16 * MIB

/**
 * Makes short keys for maps from names and values, which may be as long as a request. Two texts have the same key only if they are equal.
 * Digests are cached, since each span of a resource repeats its attributes.
 */
export class TextKeys {
  readonly #digests = new Map<string, string>()
  #length = 0
  /** The keys of list values. */
  readonly #lists = new WeakMap<object, string>()

  of(text: string): string {
    if (text.length <= MOST_PLAIN) return `=${text}`
    const known = this.#digests.get(text)
    if (known !== undefined) return known
    const digest = `#${createHash('sha256').update(text).digest('base64')}`
    if (this.#digests.size >= MOST_REMEMBERED || this.#length + text.length > MOST_LENGTH) {
      this.#digests.clear()
      this.#length = 0
    }
    this.#digests.set(text, digest)
    this.#length += text.length
    return digest
  }

  ofValue(value: Static): string {
    if (value.type === 'nil' || typeof value.value !== 'object')
      return `${value.type}${this.of(textOf(value))}`
    let key = this.#lists.get(value)
    if (key === undefined) this.#lists.set(value, (key = `${value.type}${this.of(textOf(value))}`))
    return key
  }
}
