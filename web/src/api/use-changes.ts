import { useEffect, useState } from 'preact/hooks'
import type { CascadeOfCpid, CascadesOfCpid } from '../../../src/query/answer-schemas.ts'
import { fetchAnswer } from './fetch-answer.ts'

/** The most CPIDs looked up for one view, and the most at once. */
const MOST = 60
const AT_ONCE = 4
const CASCADES_ASKED = 8

/** The changes that drive each CPID; empty if nothing is known. */
export type Changes = ReadonlyMap<string, readonly CascadeOfCpid[]>

/** Looks up which changes drive the first of these CPIDs. Earlier results stay while others are looked up. */
export function useChanges(cpids: readonly string[]): Changes {
  const [found, setFound] = useState<Changes>(new Map())
  const wanted = cpids.slice(0, MOST).join()
  useEffect(() => {
    const stop = new AbortController()
    const left = wanted.split(',').filter((cpid) => cpid !== '' && !found.has(cpid))
    const ask = async (): Promise<void> => {
      for (let cpid = left.shift(); cpid !== undefined; cpid = left.shift()) {
        const path = `/api/v1/cpids/${cpid}/cascades?limit=${CASCADES_ASKED}`
        const answer = await fetchAnswer<CascadesOfCpid>(path, { signal: stop.signal })
        const cascades = answer.kind === 'new' ? driving(cpid, answer.data.cascades) : []
        const key = cpid
        setFound((now) => new Map(now).set(key, cascades))
      }
    }
    for (let asking = 0; asking < AT_ONCE; asking++) ask().catch(() => undefined)
    return () => stop.abort()
  }, [wanted])
  return found
}

/** The change that began with the CPID, if any; else those that drive it; else those that it was only passed on with. */
function driving(cpid: string, cascades: readonly CascadeOfCpid[]): readonly CascadeOfCpid[] {
  const own = cascades.filter(({ root }) => root === cpid)
  if (own.length > 0) return own
  const drive = cascades.filter(({ drives }) => drives)
  return drive.length > 0 ? drive : cascades
}
