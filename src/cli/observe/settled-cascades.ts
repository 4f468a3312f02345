import { setTimeout as sleep } from 'node:timers/promises'

/** A cascade as the query API tells of it. */
export interface SettledCascade {
  readonly root: string
  readonly durationMs: number
  readonly spans: number
  readonly object: string | null
  readonly actor: string | null
  /** Why it began, such as `scale by alice`; null where nothing said. */
  readonly reason: string | null
  /** Those that took part, most time first. */
  readonly services: readonly string[]
}

interface Outline extends Omit<SettledCascade, 'services'> {
  readonly state: 'open' | 'settled'
}

const LIMIT = 500

/** Asks a query API which cascades were open and have settled since; each is told once. */
export class SettledCascades {
  readonly #url: string
  #open = new Set<string>()

  constructor(url: string) {
    this.#url = url
  }

  /** Those that settled since the last look. Rejects when the API does not answer. */
  async look(): Promise<SettledCascade[]> {
    const { cascades } = await this.#get<{ cascades: Outline[] }>(`cascades?state=open&limit=${LIMIT}`)
    const open = new Set(cascades.map(({ root }) => root))
    const ended = [...this.#open].filter((root) => !open.has(root))
    const found = await Promise.all(ended.map((root) => this.#cascade(root)))
    // Whatever is beyond the limit is open as well, and looked at again.
    this.#open = new Set([...open, ...found.flatMap((one) => (one?.state === 'open' ? [one.root] : []))])
    return found.flatMap((one) => (one?.state === 'settled' ? [one] : []))
  }

  /** Undefined once it was pruned. */
  async #cascade(root: string): Promise<(Outline & SettledCascade) | undefined> {
    type Answer = Outline & { timePerService: { service: string }[] }
    try {
      const cascade = await this.#get<Answer>(`cascades/${root}`)
      return { ...cascade, services: cascade.timePerService.map(({ service }) => service) }
    } catch {
      return undefined
    }
  }

  async #get<Answer>(path: string): Promise<Answer> {
    const response = await fetch(`${this.#url}/api/v1/${path}`)
    if (!response.ok) throw new Error(`${path} is answered ${response.status}`)
    return (await response.json()) as Answer
  }
}

/** Looks again and again until the signal aborts; `show` is told of each cascade. */
export async function watchSettled(
  cascades: SettledCascades,
  everyMs: number,
  show: (cascade: SettledCascade) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const cascade of await cascades.look()) show(cascade)
    } catch {
      // It does not listen yet, or no longer; whoever runs it says why.
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}
