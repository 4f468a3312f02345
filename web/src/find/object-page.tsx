import { Notice } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { ObjectHistoryPanel } from './object-history.tsx'
import { ObjectVersionsPanel } from './object-versions.tsx'

const PANELS = { versions: 'Versions', history: 'All that happened' } as const

/** An object: who wrote which version of it and why, and everything that happened to it. */
export function ObjectPage({ search }: { search: URLSearchParams }) {
  const reference = search.get('ref') ?? ''
  if (reference === '') return <Notice title="No object is named in this address" isPage />
  const panel = search.get('view') === 'history' ? 'history' : 'versions'
  return (
    <>
      <div class="page-head">
        <h1>
          <ObjectMark reference={reference} />
        </h1>
      </div>
      <Tabs names={PANELS} current={panel} />
      <section id="panel" class="panel" role="tabpanel" aria-label={PANELS[panel]}>
        {panel === 'versions' ? (
          <ObjectVersionsPanel reference={reference} />
        ) : (
          <ObjectHistoryPanel reference={reference} />
        )}
      </section>
    </>
  )
}
