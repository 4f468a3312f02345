import { useEffect, useRef, useState } from 'preact/hooks'
import { go, hrefTo, useAddress } from '../app/address.ts'

/** Finds a CPID or an object, from every page. The key `/` focuses it. */
export function SearchBox() {
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
