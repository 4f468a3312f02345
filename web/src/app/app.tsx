import { CascadesPage } from '../cascades/cascades-page.tsx'
import { Notice } from '../parts/notice.tsx'
import { useEffect } from 'preact/hooks'
import { go, hrefTo, useAddress, type Address } from './address.ts'
import { lazyView } from './lazy-view.tsx'
import { Shell } from './shell.tsx'

const CascadePage = lazyView(async () => (await import('../cascade/cascade-page.tsx')).CascadePage)
const GraphPage = lazyView(async () => (await import('../graph/graph-page.tsx')).GraphPage)
const ComparePage = lazyView(async () => (await import('../compare/compare-page.tsx')).ComparePage)
const ChooseComparison = lazyView(
  async () => (await import('../compare/choose-comparison.tsx')).ChooseComparison,
)
const FindPage = lazyView(async () => (await import('../find/find-page.tsx')).FindPage)
const ObjectPage = lazyView(async () => (await import('../find/object-page.tsx')).ObjectPage)

/** A prefix of a CPID, accepted where a CPID is expected. */
const BEGINNING = /^(?=(-?[0-9a-f]){8,31}-?$)[0-9a-f]{8}/i

export function App() {
  const address = useAddress()
  const view = viewAt(address)
  return (
    <Shell title={view.title} path={address.path}>
      {view.page}
    </Shell>
  )
}

function viewAt({ path, search }: Address) {
  const [kind = '', id = '', ...rest] = path.split('/').slice(1)
  switch (kind) {
    case '':
      return { title: 'Cascades', page: <CascadesPage search={search} /> }
    case 'find':
      return { title: 'Find', page: <FindPage search={search} /> }
    case 'objects':
      return { title: 'Object', page: <ObjectPage search={search} /> }
    case 'compare':
      return { title: 'Compare', page: <ChooseComparison a={search.get('a')} /> }
    case 'cpids':
      if (id === '' || rest.length > 0) break
      if (BEGINNING.test(id)) return { title: 'Find', page: <FindInstead text={id} /> }
      return {
        title: `Merge graph ${id.slice(0, 8)}`,
        page: <GraphPage key={id} cpid={id} search={search} />,
      }
    case 'cascades': {
      if (id === '') break
      if (rest.length === 0) {
        if (BEGINNING.test(id)) return { title: 'Find', page: <FindInstead text={id} /> }
        return {
          title: `Cascade ${id.slice(0, 8)}`,
          page: <CascadePage key={id} root={id} search={search} />,
        }
      }
      const [compare, other] = rest
      if (compare !== 'compare' || other === undefined || rest.length > 2) break
      return { title: 'Comparison', page: <ComparePage key={`${id} ${other}`} a={id} b={other} /> }
    }
  }
  return {
    title: 'Not found',
    page: (
      <Notice title="There is no such page" isPage>
        <p>
          See the <a href="/">cascades</a>, or paste a CPID into the search box.
        </p>
      </Notice>
    ),
  }
}

/** Navigates to the result for a text. */
function FindInstead({ text }: { text: string }) {
  useEffect(() => go(hrefTo('/find', { q: text }), { replace: true }), [text])
  return null
}
