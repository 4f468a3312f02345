import type { Pages, Placed } from '../model/ports/query-port.ts'
import { cursorOf } from './cursor.ts'

/** Takes the first `limit` items of a list and remembers where it was cut. */
export class PageCut {
  /** What asks for the rest, once the list is read; undefined when nothing was cut off. */
  next: string | undefined
  readonly #limit: number

  constructor(limit = Infinity) {
    this.#limit = limit
  }

  *take<T extends Placed>(pages: Pages<T>): Generator<readonly T[]> {
    let left = this.#limit
    let last: T | undefined
    for (const page of pages) {
      if (page.length > left) {
        yield page.slice(0, left)
        last = page[left - 1] ?? last
        this.next = last && cursorOf(last.position)
        return
      }
      yield page
      left -= page.length
      last = page.at(-1) ?? last
    }
  }
}
