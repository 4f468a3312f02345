import type { ApiClient } from '../api/api-client.ts'
import { ApiError } from '../api/api-error.ts'
import type { Resource } from '../api/kube-objects.ts'
import type { Chance } from '../chance.ts'
import type { Clock } from '../clock.ts'
import type { Informer } from './informer.ts'
import type { DoWork } from './work.ts'
import { type WorkQueue } from './work-queue.ts'

/** What a controller runs in. */
export interface ControllerContext {
  client: ApiClient
  clock: Clock
  chance: Chance
  /** Aborts when the controller is to end. */
  signal: AbortSignal
  doWork: DoWork
  /** Takes what a controller could not do and does not expect. */
  complain: (error: unknown) => void
  /** Called when a controller has its first lists and goes to work. */
  ready: () => void
}

/** Runs until its signal aborts. */
export type Controller = (surroundings: ControllerContext) => Promise<void>

interface Loop {
  informers: readonly Pick<Informer<Resource>, 'run' | 'synced'>[]
  queue: WorkQueue
  /** Brings what a key stands for nearer to what it should be. */
  reconcile: (key: string) => Promise<void>
  /** How many keys are worked on at the same time. */
  workers: number
}

/** Keeps the informers up to date and reconciles what their handlers put into the queue. */
export async function runLoop(
  { signal, complain, ready }: ControllerContext,
  { informers, queue, reconcile, workers }: Loop,
): Promise<void> {
  const running = informers.map((informer) => informer.run())
  await Promise.race([Promise.all(informers.map(({ synced }) => synced)), Promise.all(running)])
  if (signal.aborted) return
  ready()
  const work = async () => {
    for (;;) {
      const key = await queue.take()
      try {
        await reconcile(key)
        queue.forget(key)
      } catch (error) {
        if (!(error instanceof ApiError) && !signal.aborted) complain(error)
        queue.retry(key)
      }
      queue.done(key)
    }
  }
  const working = Array.from({ length: workers }, () => untilAborted(signal, work()))
  await Promise.all([...running, ...working])
}

async function untilAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
