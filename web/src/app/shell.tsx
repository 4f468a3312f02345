import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { SearchBox } from '../parts/search-box.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'

interface ShellProps {
  /** The title of the browser tab. */
  title: string
  path: string
  children: ComponentChildren
}

/** The frame around every view. */
export function Shell({ title, path, children }: ShellProps) {
  useEffect(() => {
    document.title = `${title} · Causeway`
  }, [title])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="shell">
        <a class="brand" href="/">
          Causeway
        </a>
        <nav aria-label="Views">
          <a href="/" aria-current={path === '/' ? 'page' : undefined}>
            Cascades
          </a>
          <a href="/compare" aria-current={path === '/compare' ? 'page' : undefined}>
            Compare
          </a>
        </nav>
        <SearchBox />
        <ThemeChoice />
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  )
}
