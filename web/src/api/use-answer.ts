import { useEffect, useRef, useState } from 'preact/hooks'
import { fetchAnswer, type Trouble } from './fetch-answer.ts'

/** What is known of an answer: the newest data, and why there is none or none newer. */
export interface Answer<T> {
  data: T | undefined
  trouble: Trouble | undefined
  /** The data, if any, answers an earlier question. */
  isLoading: boolean
  /** Bytes that have come of an answer that is under way. */
  bytes: number
  askAgain: () => void
}

const RETRY_MS = 5_000
/** Asking again takes at most about this part of the time. */
const SHARE = 10

interface Known<T> {
  path: string
  data: T
  etag: string | null
}

/**
 * Asks the API, and again after as many milliseconds as `againAfter` says, while the page is in sight. A path that is
 * undefined asks nothing.
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
        if (fetched.trouble.code === 'unreachable') later(RETRY_MS)
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
  // The reader has gone on to something else.
}
