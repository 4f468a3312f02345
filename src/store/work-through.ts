interface WorkOnItems {
  /** Does `most` items after the first `done` ones in one transaction, and returns how many it did: fewer end the work. */
  readonly work: (done: number, most: number) => number
  /** Gets past one item that cannot be worked on. */
  readonly pass: (done: number, error: unknown) => void
  /** Whether what was thrown can be about one item; all else fails for every item, and is thrown on. */
  readonly isAboutOneItem: (error: unknown) => boolean
}

/**
 * Works on items, all in one transaction. Where one of them throws, half as many are tried, and so on, until that one is alone and is
 * passed: so it does not stop the others, and no more than about twice as many transactions as items are tried. Returns how many are done with.
 */
export function workThrough(count: number, { work, pass, isAboutOneItem }: WorkOnItems): number {
  let most = count
  let done = 0
  do {
    most = Math.min(most, count - done)
    try {
      const worked = work(done, most)
      done += worked
      if (worked < most) break
      most *= 2
    } catch (error) {
      if (most === 0 || !isAboutOneItem(error)) throw error
      if (most > 1) most >>= 1
      else pass(done++, error)
    }
  } while (done < count)
  return done
}
