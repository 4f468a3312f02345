import { useMemo } from 'preact/hooks'
import type { Cascade, DashboardSettings } from '../../../src/query/answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import { go, hrefWith } from '../app/address.ts'
import { PartialNotice, Pending, TroubleNotice } from '../parts/notice.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { CascadeHead } from './cascade-head.tsx'
import { CascadeNotices } from './cascade-notices.tsx'
import { CriticalPanel } from './critical-panel.tsx'
import { FlamePanel } from './flame-panel.tsx'
import { MergesPanel } from './merges-panel.tsx'
import { OtherChanges } from './other-changes-note.tsx'
import { PodStatsPanel } from './pod-stats-panel.tsx'
import { ObjectsPanel } from './objects-panel.tsx'
import { ObjectTreePanel } from './object-tree-panel.tsx'
import { SpanDetails } from './span-details.tsx'
import { spanRows } from './span-rows.ts'
import { TimesPanel } from './times-panel.tsx'

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
