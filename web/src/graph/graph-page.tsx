import { useMemo } from 'preact/hooks'
import type { CascadeOfCpid, CascadesOfCpid, Graph, MergelogList } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { useChanges } from '../api/use-changes.ts'
import { CascadeRows } from '../cascades/cascade-rows.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { Notice, PartialNotice, Pending, TroubleNotice } from '../parts/notice.tsx'
import { BegunMark } from '../parts/begun-mark.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { changeSentence } from '../text/change-sentence.ts'
import { Tabs } from '../parts/tabs.tsx'
import { useNow } from '../parts/use-now.ts'
import { GraphPanel } from './graph-panel.tsx'
import { GraphTable } from './graph-table.tsx'
import { type DrawnGraph, withOtherSources } from './other-sources.ts'

const ASK_AGAIN_MS = 3_000
const NODES = 200

const PANELS = { graph: 'Graph', table: 'Table', cascades: 'Cascades' } as const

/** What a change came from, and what followed from it. */
export function GraphPage({ cpid, search }: { cpid: string; search: URLSearchParams }) {
  const answer = useAnswer<Graph>(`/api/v1/cpids/${cpid}/graph?limit=${NODES}`, () => ASK_AGAIN_MS)
  const cascades = useAnswer<CascadesOfCpid>(`/api/v1/cpids/${cpid}/cascades`, () => ASK_AGAIN_MS)
  const mergelogs = useAnswer<MergelogList>(`/api/v1/cpids/${cpid}/mergelogs?limit=1000`, () => ASK_AGAIN_MS)
  const nowMs = useNow()
  const graph = useMemo(
    () => answer.data && withOtherSources(answer.data, mergelogs.data?.mergelogs ?? []),
    [answer.data, mergelogs.data],
  )
  const changes = useChanges((graph?.nodes ?? []).flatMap(({ cpid: one, other }) => (other ? [one] : [])))
  if (graph === undefined || answer.isLoading)
    return <Pending answer={answer} what="the merge graph" isPage />
  const asked = search.get('view') ?? 'graph'
  const panel = asked in PANELS ? (asked as keyof typeof PANELS) : 'graph'
  const own = graph.nodes.find((node) => node.cpid === graph.cpid)
  // Several Causeways may tell of the same one.
  const list = (cascades.data?.cascades ?? []).filter(
    (cascade, at, all) => all.findIndex(({ root }) => root === cascade.root) === at,
  )
  const start = own?.timestamp ?? list[0]?.start ?? ''
  return (
    <>
      {answer.trouble !== undefined && <TroubleNotice trouble={answer.trouble} onRetry={answer.askAgain} />}
      <div class="page-head">
        <h1>Merge graph {own?.object && <ObjectMark reference={own.object} />}</h1>
      </div>
      <dl class="facts">
        <div>
          <dt>CPID</dt>
          <dd>
            <CpidMark cpid={graph.cpid} isWhole />
          </dd>
        </div>
        {list.length === 0 && (
          <div>
            <dt>Driven by</dt>
            <dd class="muted">no cascade yet</dd>
          </div>
        )}
        <CascadesFact name="Driven by" cascades={list.filter(({ drives }) => drives)} />
        <CascadesFact
          name={list.some(({ drives }) => drives) ? 'Also descends from' : 'In the cascades'}
          cascades={list.filter(({ drives }) => !drives)}
        />
      </dl>
      <PartialNotice of={answer.data} />
      <Unexplained graph={graph} />
      <Tabs names={PANELS} current={panel} />
      <section id="panel" role="tabpanel" aria-label={PANELS[panel]}>
        {panel === 'graph' && <GraphPanel {...{ graph, changes, start }} />}
        {panel === 'table' && <GraphTable {...{ graph, changes, start }} />}
        {panel === 'cascades' &&
          (list.length === 0 ? (
            <Notice title="It is in no cascade yet">
              <p>Its cascades appear here when a span or mergelog with this CPID has been linked.</p>
            </Notice>
          ) : (
            <CascadeRows caption="Cascades with this CPID" cascades={list} nowMs={nowMs} />
          ))}
      </section>
    </>
  )
}

const CASCADES_NAMED = 5

/** Some of the cascades that it is part of. */
function CascadesFact({ name, cascades }: { name: string; cascades: readonly CascadeOfCpid[] }) {
  if (cascades.length === 0) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <ul class="cpid-list">
          {cascades.slice(0, CASCADES_NAMED).map((change) => (
            <li key={change.root}>
              <a href={`/cascades/${change.root}`}>
                {changeSentence(change)} <span class="mono">{change.root.slice(0, 8)}</span>
              </a>{' '}
              <BegunMark {...change} />
            </li>
          ))}
          {cascades.length > CASCADES_NAMED && (
            <li class="muted">and {cascades.length - CASCADES_NAMED} more</li>
          )}
        </ul>
      </dd>
    </div>
  )
}

function Unexplained({ graph }: { graph: DrawnGraph }) {
  const missing = graph.nodes.filter(({ timestamp, other }) => timestamp === null && !other).length
  return (
    <div class="cascade-notices">
      {missing > 0 && (
        <p class="note bad">
          {missing === 1 ? 'One CPID here has' : `${missing} CPIDs here have`} no mergelog yet (dashed), so
          the changes that led to {missing === 1 ? 'it' : 'them'} are unknown.
        </p>
      )}
      {graph.truncated && (
        <p class="note">
          Only the nearest {graph.nodes.length} CPIDs are shown. Open one at the edge to see what is beyond
          it.
        </p>
      )}
    </div>
  )
}
