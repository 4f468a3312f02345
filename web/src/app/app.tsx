import { CascadesPage } from '../cascades/cascades-page.tsx'
import { Notice } from '../parts/notice.tsx'
import { useAddress, type Address } from './address.ts'
import { Shell } from './shell.tsx'

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
  if (path === '/') return { title: 'Cascades', page: <CascadesPage search={search} /> }
  return {
    title: 'Not found',
    page: (
      <Notice title="There is no such page">
        <p>
          See the <a href="/">cascades</a>, or paste a CPID into the search box.
        </p>
      </Notice>
    ),
  }
}
