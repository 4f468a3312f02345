/** The filters of a list of cascades, by their names in the API and in the address. */
export const FILTERS = [
  'state',
  'cause',
  'object',
  'namespace',
  'actor',
  'service',
  'cluster',
  'from',
  'to',
] as const

export type FilterName = (typeof FILTERS)[number]

/** Recent time ranges, by their value in the address. */
export const RECENT: Readonly<Record<string, { label: string; ms: number }>> = {
  '15m': { label: 'Last 15 minutes', ms: 900_000 },
  '1h': { label: 'Last hour', ms: 3_600_000 },
  '6h': { label: 'Last 6 hours', ms: 21_600_000 },
  '24h': { label: 'Last 24 hours', ms: 86_400_000 },
  '7d': { label: 'Last 7 days', ms: 604_800_000 },
}
const RECENT_BY_NAME = new Map(Object.entries(RECENT))

/** The API path for an address. A recent time range is rounded, so that the path stays the same. */
export function cascadesPath(search: URLSearchParams, nowMs: number, limit: number, after?: string): string {
  const asked = new URLSearchParams()
  for (const name of FILTERS) {
    const value = search.get(name)
    if (value === null || value === '') continue
    const recent = name === 'from' ? RECENT_BY_NAME.get(value) : undefined
    if (recent === undefined) asked.set(name, value)
    else asked.set(name, new Date(Math.floor((nowMs - recent.ms) / 60_000) * 60_000).toISOString())
  }
  asked.set('limit', String(limit))
  if (after !== undefined) asked.set('after', after)
  return `/api/v1/cascades?${asked}`
}
