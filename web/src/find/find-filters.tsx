import type { Facets } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { go, hrefWith } from '../app/address.ts'
import { TypedFilter } from '../parts/typed-filter.tsx'

const NAMES = ['namespace', 'actor'] as const

/** The filters of a search, by their API names. */
export function filtersOf(search: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = search.get(name) ?? ''
      return value === '' ? [] : [[name, value] as const]
    }),
  )
}

/** Filters the results. The chosen filters are in the address. */
export function FindFilters({ search }: { search: URLSearchParams }) {
  const facets = useAnswer<Facets>('/api/v1/facets')
  const typed = (name: (typeof NAMES)[number]) => ({
    name,
    chosen: search.get(name) ?? '',
    onChoose: (value: string) => go(hrefWith({ [name]: value })),
  })
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <TypedFilter {...typed('namespace')} label="Namespace" options={facets.data?.namespaces} />
      <TypedFilter
        {...typed('actor')}
        label="Actor"
        placeholder="user or service"
        options={facets.data?.actors}
      />
    </form>
  )
}
