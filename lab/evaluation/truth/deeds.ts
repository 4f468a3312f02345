import { drawBetween, seededRandom } from '../../harness/seeded-random.ts'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { going } from './manifests.ts'
import type { Scene, User } from './story.ts'

type Deed = (api: KubeApi) => Promise<unknown>

/** Who does what, and for how long nothing has to have happened before the next; a drawn time unless it says so. */
export type Turn = readonly [user: User, desc: string, deed: Deed, quietMs?: number]

const DRAWN_MS = [4_000, 9_000] as const

/** Steps of a story, one after the other; the pauses are the same each time that it is played. */
export async function inTurn({ name, step }: Scene, ...turns: readonly Turn[]): Promise<void> {
  const seed = Buffer.from(name).reduce((sum, letter) => sum * 31 + letter, turns.length)
  const random = seededRandom(seed)
  for (const [user, desc, deed, quietMs = drawBetween(random, ...DRAWN_MS)] of turns)
    await step(user, desc, deed, quietMs)
}

export const make =
  (path: string, object: object): Deed =>
  (api) =>
    api.create(path, object)

/** A merge patch. */
export const change =
  (path: string, object: object): Deed =>
  (api) =>
    api.patch(path, object)

export const remove =
  (path: string, how: 'Background' | 'Foreground' | 'Orphan' = 'Background'): Deed =>
  (api) =>
    api.delete(path, going(how))

/** A strategic merge patch. */
export const edit =
  (path: string, object: object): Deed =>
  (api) =>
    api.patch(path, object, 'strategic-merge-patch')
