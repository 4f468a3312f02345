interface WorkOnItems {
  /** Works on `most` items after the first `done`, in one transaction. Returns how many it did; fewer than `most` end the work. */
  readonly work: (done: number, most: number) => number
  /** Skips one item that cannot be processed. */
  readonly skip: (done: number, error: unknown) => void
  /** Whether an error may be about a single item. Other errors would occur for every item, and are rethrown. */
  readonly isAboutOneItem: (error: unknown) => boolean
}

/**
 * Works on all items in one transaction. If that throws, half as many are tried, and so on, until a poisoned item is alone and can be
 * skipped. Needs about two transactions per item at most. Returns how many items are done.
 */
export function skipPoisonedItems(count: number, { work, skip, isAboutOneItem }: WorkOnItems): number {
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
      else skip(done++, error)
    }
  } while (done < count)
  return done
}
