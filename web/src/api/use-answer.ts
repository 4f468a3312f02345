import { useEffect, useRef, useState } from 'preact/hooks'
import { fetchAnswer, type Trouble } from './fetch-answer.ts'

/** The state of an answer: the newest data, and why there is none or none newer. */
export interface Answer<T> {
  data: T | undefined
  trouble: Trouble | undefined
  /** The data, if any, answers an earlier request. */
  isLoading: boolean
  /** Bytes received of a pending answer. */
  bytes: number
  askAgain: () => void
}

const RETRY_MS = 5_000
/** Errors that may pass: Causeway restarts, or the target of a link has not arrived yet. */
const PASSING: ReadonlySet<string> = new Set(['unreachable', 'unknown_cpid'])
/** At most about one part in this many of the time is spent on repeated requests. */
const SHARE = 10

const SETTLED_AGAIN_MS = 10_000

/** How long to wait before a cascade is requested again. A settled one can still grow, but seldom does. */
export function askAgainMs(state: 'open' | 'settled', whileOpenMs: number): number {
  return state === 'open' ? whileOpenMs : SETTLED_AGAIN_MS
}

interface Known<T> {
  path: string
  data: T
  etag: string | null
}

/**
 * Requests the API, and repeats the request after `againAfter` milliseconds while the page is visible. An undefined path requests
 * nothing.
 */
export function useAnswer<T>(
  path: string | undefined,
  againAfter: (data: T) => number | undefined = () => undefined,
): Answer<T> {
  const [known, setKnown] = useState<Known<T>>()
  const [trouble, setTrouble] = useState<Trouble>()
  const [bytes, setBytes] = useState(0)
  const [turn, setTurn] = useState(0)
  const latest = useRef<Known<T> | undefined>(undefined)
  const again = useRef(againAfter)
  again.current = againAfter

  useEffect(() => {
    if (path === undefined) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isWaiting = false

    const later = (afterMs: number | undefined) => {
      if (afterMs === undefined) return
      isWaiting = true
      timer = setTimeout(() => {
        if (document.visibilityState === 'visible') ask().catch(ignoreAbort)
      }, afterMs)
    }
    const ask = async () => {
      clearTimeout(timer)
      isWaiting = false
      const beganMs = performance.now()
      const at = latest.current?.path === path ? latest.current : undefined
      const fetched = await fetchAnswer<T>(path, {
        signal: stop.signal,
        etag: at?.etag ?? null,
        ...(at === undefined && { onBytes: setBytes }),
      })
      const tookMs = performance.now() - beganMs
      if (fetched.kind === 'trouble') {
        setTrouble(fetched.trouble)
        if (PASSING.has(fetched.trouble.code)) later(RETRY_MS)
        return
      }
      setTrouble(undefined)
      if (fetched.kind === 'new') {
        latest.current = { path, data: fetched.data, etag: fetched.etag }
        setKnown(latest.current)
      }
      const wanted = latest.current && again.current(latest.current.data)
      later(wanted === undefined ? undefined : Math.max(wanted, tookMs * SHARE))
    }
    const onSight = () => {
      if (document.visibilityState === 'visible' && isWaiting) ask().catch(ignoreAbort)
    }
    setTrouble(undefined)
    setBytes(0)
    ask().catch(ignoreAbort)
    document.addEventListener('visibilitychange', onSight)
    return () => {
      stop.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onSight)
    }
  }, [path, turn])

  return {
    data: known?.data,
    trouble,
    isLoading: path !== undefined && known?.path !== path && trouble === undefined,
    bytes,
    askAgain: () => setTurn(turn + 1),
  }
}

function ignoreAbort(): void {
  // The reader has moved on.
}
