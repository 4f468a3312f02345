import { useEffect, useState } from 'preact/hooks'
import type { Facets } from '../../../src/query/answers/objects.ts'
import { useAnswer } from '../api/use-answer.ts'
import { go, hrefWith } from '../app/address.ts'
import { FILTERS, RECENT, type FilterName } from './cascade-filter.ts'

/** Narrows the list down; what is chosen stands in the address. */
export function FilterBar({ search }: { search: URLSearchParams }) {
  const facets = useAnswer<Facets>('/api/v1/facets')
  const choose = (name: FilterName, value: string) =>
    go(hrefWith({ [name]: value, ...(name === 'from' && { to: null }) }), { replace: name === 'object' })
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
      <Typed name="object" label="Object" search={search} choose={choose} placeholder="name or reference" />
      <Typed name="service" label="Service" search={search} choose={choose} options={facets.data?.services} />
      <Typed name="cluster" label="Cluster" search={search} choose={choose} options={facets.data?.clusters} />
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

/** A time that the address names and the choices do not. */
function Custom({ from }: { from: string | null }) {
  if (from === null || from === '' || from in RECENT) return null
  return <option value={from}>since {from}</option>
}

interface TypedProps {
  name: FilterName
  label: string
  search: URLSearchParams
  choose: (name: FilterName, value: string) => void
  placeholder?: string
  options?: readonly string[] | undefined
}

/** Takes effect on Enter, on leaving the field, or at once when one of the options is picked. */
function Typed({ name, label, search, choose, placeholder = 'any', options = [] }: TypedProps) {
  const chosen = search.get(name) ?? ''
  const [text, setText] = useState(chosen)
  useEffect(() => setText(chosen), [chosen])
  return (
    <label>
      {label}
      <input
        type="text"
        value={text}
        placeholder={placeholder}
        list={options.length > 0 ? `${name}-options` : undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value)
          if (options.includes(event.currentTarget.value)) choose(name, event.currentTarget.value)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') choose(name, event.currentTarget.value.trim())
        }}
        onBlur={(event) => choose(name, event.currentTarget.value.trim())}
      />
      {options.length > 0 && (
        <datalist id={`${name}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  )
}
