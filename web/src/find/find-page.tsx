import { useEffect } from 'preact/hooks'
import type { Facets, Found } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { go, hrefTo, hrefWith } from '../app/address.ts'
import { CascadeRows } from '../cascades/cascade-rows.tsx'
import { Notice, PartialNotice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { useNow } from '../parts/use-now.ts'
import { TypedFilter } from '../parts/typed-filter.tsx'

const ASK_AGAIN_MS = 3_000

/** The results for a CPID or a part of an object's name. A CPID of exactly one cascade opens that cascade. */
export function FindPage({ search }: { search: URLSearchParams }) {
  const text = (search.get('q') ?? '').trim()
  const filters = filtersOf(search)
  const isFiltered = Object.keys(filters).length > 0
  const answer = useAnswer<Found>(
    text === '' ? undefined : hrefTo('/api/v1/find', { q: text, ...filters, limit: '50' }),
    () => ASK_AGAIN_MS,
  )
  const found = answer.isLoading ? undefined : answer.data
  const only = isFiltered ? undefined : onlyCascade(found)
  useEffect(() => {
    if (only !== undefined) go(`/cascades/${only}`, { replace: true })
  }, [only])

  if (text === '') {
    return (
      <Notice title="What are you looking for?" isPage>
        <p>
          Paste a CPID, at least its first eight digits, or a trace id into the box above. Or type the name of
          an object, such as <code>web</code> or <code>deployments/default/web</code>. The key <kbd>/</kbd>{' '}
          moves to the box from everywhere.
        </p>
      </Notice>
    )
  }
  return (
    <>
      <div class="page-head">
        <h1>
          Found for <span class="sought">{text}</span>
        </h1>
      </div>
      <FindFilters search={search} />
      <PartialNotice of={found} />
      {found === undefined ? (
        <Pending answer={answer} what="what matches" />
      ) : (
        <FoundList found={found} isFiltered={isFiltered} />
      )}
    </>
  )
}

function FoundList({ found, isFiltered }: { found: Found; isFiltered: boolean }) {
  const nowMs = useNow()
  const isNothing = found.cascades.length + found.objects.length + found.cpids.length === 0
  return (
    <>
      <FoundCpid cpid={found.cpid} />
      {isNothing && (found.cpid === null || isFiltered) && (
        <Notice title={isFiltered ? 'Nothing matches these filters' : 'Nothing matches'}>
          <p>
            {isFiltered
              ? 'Clear a filter. The actor finds only what that user or service took part in, and the namespace only what is in it.'
              : 'Objects are found by any part of their name. A CPID has 32 hex digits, with or without dashes. Its first eight digits are enough.'}
          </p>
        </Notice>
      )}
      {found.cpids.length > 0 && (
        <section class="found">
          <h2>CPIDs that begin with this</h2>
          <ul class="choices">
            {found.cpids.map((cpid) => (
              <li key={cpid}>
                <a class="mono" href={`/cpids/${cpid}`}>
                  {cpid}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      {found.cascades.length > 0 && (
        <section class="found">
          <h2>Cascades</h2>
          <CascadeRows caption="Cascades found" cascades={found.cascades} nowMs={nowMs} />
        </section>
      )}
      {found.objects.length > 0 && (
        <section class="found">
          <h2>Objects</h2>
          <ul class="choices">
            {found.objects.map((reference) => (
              <li key={reference}>
                <a href={hrefTo('/objects', { ref: reference })}>
                  <ObjectMark reference={reference} />
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function onlyCascade(found: Found | undefined): string | undefined {
  if (found?.cpid?.state !== 'known' || found.cascades.length !== 1 || found.objects.length > 0)
    return undefined
  return found.cascades[0]?.root === found.cpid.cpid ? found.cpid.cpid : undefined
}

function FoundCpid({ cpid }: { cpid: Found['cpid'] }) {
  if (cpid === null) return null
  switch (cpid.state) {
    case 'known':
      return (
        <p class="panel-lead">
          The CPID{' '}
          <a class="mono" href={`/cpids/${cpid.cpid}`}>
            {cpid.cpid}
          </a>{' '}
          and its merge graph.
        </p>
      )
    case 'pruned':
      return (
        <Notice title="This CPID has been pruned">
          <p>
            Retention has pruned it and its spans. To keep CPIDs longer, raise the limits under{' '}
            <code>connectors::cpid::retention</code>.
          </p>
        </Notice>
      )
    case 'unknown':
      return (
        <Notice title="Nothing is known of this CPID">
          <p>
            No mergelog, span or log record has named it. Compare it with the object&apos;s annotation{' '}
            <code>causeway.io/cpid</code>, and check whether the sender reaches Causeway.
          </p>
        </Notice>
      )
  }
}

const NAMES = ['namespace', 'actor'] as const

/** The filters of a search, by their API names. */
function filtersOf(search: URLSearchParams): Record<string, string> {
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = search.get(name) ?? ''
      return value === '' ? [] : [[name, value] as const]
    }),
  )
}

/** Filters the results. The chosen filters are in the address. */
function FindFilters({ search }: { search: URLSearchParams }) {
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
