import { setTimeout as sleep } from 'node:timers/promises'

export interface Waiting {
  /** `host:port` of the query API. */
  query: string
  longestMs: number
  stop: AbortSignal
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 500
const PAUSE_GROWTH = 1.5

/** Resolves to whether the cascade of a root CPID settled in time. */
export function waitUntilSettled(root: string, waiting: Waiting): Promise<boolean> {
  return poll(waiting, async () => {
    const cascade = await ask<{ state: string }>(waiting, `cascades/${root}`)
    return cascade?.state === 'settled'
  })
}

/** Resolves to whether a CPID turned out in time to descend from another. */
export function waitUntilRelated(cpid: string, ancestor: string, waiting: Waiting): Promise<boolean> {
  return poll(waiting, async () => (await relatedTo(ancestor, waiting)).includes(cpid))
}

/** The CPIDs related to one, itself first; empty when Causeway does not know it. */
export async function relatedTo(cpid: string, at: Pick<Waiting, 'query' | 'stop'>): Promise<string[]> {
  return (await ask<{ related: string[] }>(at, `cpids/${cpid}/related`))?.related ?? []
}

async function poll({ longestMs, stop }: Waiting, isDone: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + longestMs
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * PAUSE_GROWTH, LONGEST_PAUSE_MS)) {
    // One question without an answer says nothing about the next.
    if (await isDone().catch(() => false)) return true
    if (performance.now() > deadline) return false
    await sleep(pause, undefined, { signal: stop })
  }
}

async function ask<T>(
  { query, stop }: Pick<Waiting, 'query' | 'stop'>,
  path: string,
): Promise<T | undefined> {
  try {
    const response = await fetch(`http://${query}/api/v1/${path}`, { signal: stop })
    return response.ok ? ((await response.json()) as T) : undefined
  } catch (cause) {
    throw new Error(`Causeway does not answer on ${query}; is it still running?`, { cause })
  }
}
