import { Notice } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { ObjectHistoryPanel } from './object-history.tsx'
import { ObjectVersionsPanel } from './object-versions.tsx'
import { WhyPanel } from './why-panel.tsx'

const PANELS = { versions: 'Versions', why: 'Why it is so', history: 'All that happened' } as const

/** An object: who wrote which version and why, what led to it, and all its events. */
export function ObjectPage({ search }: { search: URLSearchParams }) {
  const reference = search.get('ref') ?? ''
  if (reference === '') return <Notice title="No object is named in this address" isPage />
  const asked = search.get('view') ?? ''
  const panel = asked === 'history' || asked === 'why' ? asked : 'versions'
  return (
    <>
      <div class="page-head">
        <h1>
          <ObjectMark reference={reference} />
        </h1>
      </div>
      <Tabs names={PANELS} current={panel} />
      <section id="panel" class="panel" role="tabpanel" aria-label={PANELS[panel]}>
        {panel === 'versions' && <ObjectVersionsPanel reference={reference} />}
        {panel === 'why' && <WhyPanel reference={reference} />}
        {panel === 'history' && <ObjectHistoryPanel reference={reference} />}
      </section>
    </>
  )
}
