import { useEffect, useState } from 'preact/hooks'

/** The current time, updated every second or at the given interval. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
