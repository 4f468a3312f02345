import { isOutOfMemory, reasonOf } from '../model/set-aside.ts'
import type { Outgoing } from './drain.ts'

interface Decision {
  readonly decision: number
  readonly scope: number
}

/** What a decision sends. One that cannot be built is passed over, with why, lest it hold up all that comes after it. */
export function outgoing<Item extends Decision>(
  item: Item,
  build: (item: Item) => Buffer | undefined,
): Outgoing {
  const { decision, scope } = item
  try {
    return { decision, scope, bytes: build(item) }
  } catch (error) {
    if (isOutOfMemory(error)) throw error
    return { decision, scope, bytes: undefined, broken: reasonOf(error) }
  }
}
