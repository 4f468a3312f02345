import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { go, hrefTo, useAddress } from './address.ts'
import { chooseTheme, storedTheme, type Theme } from './theme.ts'

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

/** Finds a CPID or an object, from every page. The key `/` focuses it. */
function SearchBox() {
  const { path, search } = useAddress()
  const asked = path === '/find' ? (search.get('q') ?? '') : ''
  const [text, setText] = useState(asked)
  const input = useRef<HTMLInputElement>(null)

  useEffect(() => setText(asked), [asked])
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    document.addEventListener('keydown', focus)
    return () => document.removeEventListener('keydown', focus)
  }, [])

  return (
    <form
      class="search-box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() !== '') go(hrefTo('/find', { q: text.trim() }))
      }}
    >
      <label class="visually-hidden" for="find">
        Find a CPID or an object
      </label>
      <input
        id="find"
        ref={input}
        type="search"
        value={text}
        placeholder="CPID or object name"
        autocomplete="off"
        spellcheck={false}
        aria-keyshortcuts="/"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  )
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select') !== null
}

/** Light, dark, or the system setting. */
function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme)
  return (
    <label class="theme-choice">
      <span class="visually-hidden">Colours</span>
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Theme
          chooseTheme(chosen)
          setTheme(chosen)
        }}
      >
        <option value="system">Auto</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  )
}
