import { useState } from 'preact/hooks'
import type { CascadeList, ListedCascade } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { useOlder } from '../api/use-older.ts'
import { Notice, PartialNotice, Pending, TroubleNotice } from '../parts/notice.tsx'
import { OlderButton } from '../parts/older-button.tsx'
import { useNow } from '../parts/use-now.ts'
import { cascadesPath, FILTERS } from './cascade-filter.ts'
import { CascadeRows } from './cascade-rows.tsx'
import { FilterBar } from './filter-bar.tsx'

const PAGE = 100
const ASK_AGAIN_MS = 2_000

/** All cascades, newest first, kept up to date. */
export function CascadesPage({ search }: { search: URLSearchParams }) {
  const nowMs = useNow()
  const path = cascadesPath(search, nowMs, PAGE)
  const answer = useAnswer<CascadeList>(path, () => ASK_AGAIN_MS)
  const older = useOlder(
    search.toString(),
    (after) => cascadesPath(search, Date.now(), PAGE, after),
    (page: CascadeList) => page.cascades,
  )
  const [marked, setMarked] = useState<string[]>([])
  const cascades = withoutTwice([...(answer.data?.cascades ?? []), ...older.items])
  const next = older.next === undefined ? answer.data?.next : older.next
  const isFiltered = FILTERS.some((name) => search.get(name))
  const toggle = (root: string) =>
    setMarked(marked.includes(root) ? marked.filter((one) => one !== root) : [...marked.slice(-1), root])

  return (
    <>
      <div class="page-head">
        <h1>Cascades</h1>
        <Compare marked={marked} />
      </div>
      <FilterBar search={search} />
      {answer.data === undefined && <Pending answer={answer} what="cascades" />}
      {answer.data !== undefined && answer.trouble !== undefined && (
        <TroubleNotice trouble={answer.trouble} onRetry={answer.askAgain} />
      )}
      <PartialNotice of={answer.data} />
      {answer.data !== undefined && (
        <div class={answer.isLoading ? 'stale' : ''}>
          {cascades.length === 0 ? (
            <Empty isFiltered={isFiltered} />
          ) : (
            <CascadeRows
              caption="Cascades, newest first"
              cascades={cascades}
              nowMs={nowMs}
              marked={{ roots: marked, toggle }}
            />
          )}
        </div>
      )}
      <OlderButton next={next} older={older}>
        Older cascades
      </OlderButton>
    </>
  )
}

function Compare({ marked: [a, b] }: { marked: readonly string[] }) {
  if (a === undefined) return <span class="muted hint">Mark two cascades to compare them.</span>
  if (b === undefined) return <span class="muted hint">Mark one more to compare.</span>
  return (
    <a class="button" href={`/cascades/${a}/compare/${b}`}>
      Compare the two
    </a>
  )
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Notice title="No cascade matches these filters">
        <p>Clear a filter, or search for the object or CPID in the box above.</p>
      </Notice>
    )
  }
  return (
    <Notice title="No cascade has arrived yet">
      <p>
        One appears here as soon as a controller sends a span with <code>cpid.id</code> or a mergelog to
        Causeway&apos;s OTLP receiver.
      </p>
      <p>
        To see some, run <code>npm run demo -- --keep</code>. If your controllers send and nothing arrives,{' '}
        <code>npx causeway doctor</code> says why.
      </p>
    </Notice>
  )
}

function withoutTwice(cascades: readonly ListedCascade[]): ListedCascade[] {
  const seen = new Set<string>()
  const keyOf = ({ root, causeway = '' }: ListedCascade) => `${causeway} ${root}`
  return cascades.filter((cascade) => !seen.has(keyOf(cascade)) && seen.add(keyOf(cascade)))
}
