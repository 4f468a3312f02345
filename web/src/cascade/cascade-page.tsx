import { useMemo } from 'preact/hooks'
import type { Cascade, CascadeOfCpid, DashboardSettings } from '../../../src/query/answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import { go, hrefWith } from '../app/address.ts'
import { PartialNotice, Pending, TroubleNotice } from '../parts/notice.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { CascadeHead } from './cascade-head.tsx'
import { CascadeNotices } from './cascade-notices.tsx'
import { CriticalPanel } from './critical-panel.tsx'
import { FlamePanel } from './flame-panel.tsx'
import { MergesPanel } from './merges-panel.tsx'
import { PodStatsPanel } from './pod-stats-panel.tsx'
import { ObjectsPanel } from './objects-panel.tsx'
import { ObjectTreePanel } from './object-tree-panel.tsx'
import { SpanDetails } from './span-details.tsx'
import { spanRows, type SpanRows } from './span-rows.ts'
import { TimesPanel } from './times-panel.tsx'
import { useChanges } from '../api/use-changes.ts'
import { BegunMark } from '../parts/begun-mark.tsx'
import { changeSentence, relativeTo } from '../text/change-sentence.ts'
import { cpidsOfOthers } from './other-changes.ts'

const ASK_AGAIN_MS = 2_000

const PANELS = {
  flame: 'Flame graph',
  critical: 'Critical path',
  tree: 'Object tree',
  objects: 'Objects',
  pods: 'Pods',
  times: 'Time',
  merges: 'Merges',
} as const

/** One cascade, kept up to date while it is open. */
export function CascadePage({ root, search }: { root: string; search: URLSearchParams }) {
  const answer = useAnswer<Cascade>(`/api/v1/cascades/${root}`, ({ state }) =>
    askAgainMs(state, ASK_AGAIN_MS),
  )
  const settings = useAnswer<DashboardSettings>('/api/v1/dashboard')
  if (answer.data === undefined || answer.isLoading)
    return <Pending answer={answer} what="the cascade" isPage />
  return (
    <>
      {answer.trouble !== undefined && <TroubleNotice trouble={answer.trouble} onRetry={answer.askAgain} />}
      <LoadedCascade cascade={answer.data} search={search} traceUrl={settings.data?.traceUrl ?? null} />
    </>
  )
}

interface LoadedCascadeProps {
  cascade: Cascade
  search: URLSearchParams
  traceUrl: string | null
}

function LoadedCascade({ cascade, search, traceUrl }: LoadedCascadeProps) {
  const rows = useMemo(() => spanRows(cascade), [cascade])
  const asked = search.get('view') ?? 'flame'
  const panel = asked in PANELS ? (asked as keyof typeof PANELS) : 'flame'
  const chosen = rows.byId.get(search.get('span') ?? '') ?? -1
  const choose = (span: number) =>
    go(hrefWith({ span: rows.spans[span]?.spanId ?? null }), { replace: chosen !== -1 && span !== -1 })
  const common = { cascade, rows, search, chosen, onChoose: choose }
  return (
    <>
      <CascadeHead cascade={cascade} rows={rows} traceUrl={traceUrl} />
      <PartialNotice of={cascade} />
      <CascadeNotices cascade={cascade} />
      <OtherChanges rows={rows} root={cascade.root} start={cascade.start} />
      <Tabs names={PANELS} current={panel} />
      <div class={chosen === -1 ? 'panels' : 'panels with-details'}>
        <section id="panel" class="panel" role="tabpanel" aria-label={PANELS[panel]}>
          {panel === 'flame' && <FlamePanel {...common} />}
          {panel === 'critical' && <CriticalPanel {...common} />}
          {panel === 'tree' && <ObjectTreePanel cascade={cascade} search={search} />}
          {panel === 'pods' && <PodStatsPanel cascade={cascade} />}
          {panel === 'objects' && <ObjectsPanel {...common} />}
          {panel === 'times' && <TimesPanel cascade={cascade} />}
          {panel === 'merges' && <MergesPanel cascade={cascade} />}
        </section>
        {chosen !== -1 && (
          <SpanDetails
            rows={rows}
            at={chosen}
            root={cascade.root}
            start={cascade.start}
            traceUrl={traceUrl}
            onChoose={choose}
          />
        )}
      </div>
    </>
  )
}

const NAMED = 2

/** Which other changes drive some of the spans in the picture. */
function OtherChanges({ rows, root, start }: { rows: SpanRows; root: string; start: string }) {
  const cpids = useMemo(() => cpidsOfOthers(rows), [rows])
  const changes = useChanges(cpids)
  if (cpids.length === 0) return null
  const found = cpids.flatMap((cpid) => changes.get(cpid) ?? [])
  const others = [...new Map(found.map((change) => [change.root, change])).values()].filter(
    (change) => change.root !== root,
  )
  return (
    <div class="cascade-notices">
      <div class="note">
        <p>
          Boxes with stripes are work of other changes that this cascade’s objects also descend from. They
          count in the cascades of those changes, not here:
        </p>
        <ChangeList changes={others.slice(0, NAMED)} start={start} />
        {others.length > NAMED && (
          <details>
            <summary>and {others.length - NAMED} more</summary>
            <ChangeList changes={others.slice(NAMED)} start={start} />
          </details>
        )}
      </div>
    </div>
  )
}

function ChangeList({ changes, start }: { changes: readonly CascadeOfCpid[]; start: string }) {
  return (
    <ul class="cpid-list">
      {changes.map((change) => (
        <li key={change.root}>
          <a href={`/cascades/${change.root}`}>
            {changeSentence(change)}, {relativeTo(change.start, start)}
          </a>{' '}
          <BegunMark {...change} />
        </li>
      ))}
    </ul>
  )
}
