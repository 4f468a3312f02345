import type { Facets } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { go, hrefWith } from '../app/address.ts'
import { TypedFilter } from '../parts/typed-filter.tsx'
import { type FilterName, FILTERS, RECENT } from './cascade-filter.ts'

/** Filters the list. The chosen filters are in the address. */
export function FilterBar({ search }: { search: URLSearchParams }) {
  const facets = useAnswer<Facets>('/api/v1/facets')
  const choose = (name: FilterName, value: string) =>
    go(hrefWith({ [name]: value, ...(name === 'from' && { to: null }) }), { replace: name === 'object' })
  const typed = (name: FilterName) => ({
    name,
    chosen: search.get(name) ?? '',
    onChoose: (value: string) => choose(name, value),
  })
  const isFiltered = FILTERS.some((name) => search.get(name))
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        State
        <select
          value={search.get('state') ?? ''}
          onChange={(event) => choose('state', event.currentTarget.value)}
        >
          <option value="">any</option>
          <option value="open">open</option>
          <option value="settled">settled</option>
        </select>
      </label>
      <label>
        Begun
        <select
          value={search.get('cause') ?? ''}
          onChange={(event) => choose('cause', event.currentTarget.value)}
        >
          <option value="">any way</option>
          <option value="operator">by somebody</option>
          <option value="self">by itself</option>
        </select>
      </label>
      <TypedFilter {...typed('object')} label="Object" placeholder="name or reference" />
      <TypedFilter {...typed('namespace')} label="Namespace" options={facets.data?.namespaces} />
      <TypedFilter
        {...typed('actor')}
        label="Actor"
        placeholder="user or service"
        options={facets.data?.actors}
      />
      <TypedFilter {...typed('service')} label="Service" options={facets.data?.services} />
      <TypedFilter {...typed('cluster')} label="Cluster" options={facets.data?.clusters} />
      <label>
        Active
        <select
          value={search.get('from') ?? ''}
          onChange={(event) => choose('from', event.currentTarget.value)}
        >
          <option value="">at any time</option>
          {Object.entries(RECENT).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <Custom from={search.get('from')} />
        </select>
      </label>
      {isFiltered && (
        <button type="button" class="quiet" onClick={() => go(hrefWith(NOTHING))}>
          Clear
        </button>
      )}
    </form>
  )
}

const NOTHING = Object.fromEntries(FILTERS.map((name) => [name, null]))

/** A time range in the address that is not one of the choices. */
function Custom({ from }: { from: string | null }) {
  if (from === null || from === '' || from in RECENT) return null
  return <option value={from}>since {from}</option>
}
