import { useEffect, useState } from 'preact/hooks'

/** The current location. It identifies every view. */
export interface Address {
  path: string
  search: URLSearchParams
}

const listeners = new Set<() => void>()

/** The address of the page, updated when it changes. */
export function useAddress(): Address {
  const [address, setAddress] = useState(readAddress)
  useEffect(() => {
    const follow = () => setAddress(readAddress())
    listeners.add(follow)
    follow()
    return () => listeners.delete(follow)
  }, [])
  return address
}

function readAddress(): Address {
  return { path: location.pathname, search: new URLSearchParams(location.search) }
}

/** Navigates to another address of the dashboard. With `replace` the present one is not kept in the history. */
export function go(href: string, { replace = false } = {}): void {
  if (href === location.pathname + location.search) return
  if (replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  for (const listener of [...listeners]) listener()
}

/** The present path with some parameters changed. An empty value removes a parameter. */
export function hrefWith(changes: Readonly<Record<string, string | null>>): string {
  const search = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') search.delete(name)
    else search.set(name, value)
  }
  return hrefTo(location.pathname, search)
}

/** A path with parameters. */
export function hrefTo(path: string, search: URLSearchParams | Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(search).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Lets ordinary links change the view without reloading the page. */
export function followLinks(): void {
  window.addEventListener('popstate', () => {
    for (const listener of [...listeners]) listener()
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || link.target !== '' || link.origin !== location.origin) return
    if (link.pathname.startsWith('/api/') || link.hasAttribute('download') || link.hash !== '') return
    event.preventDefault()
    const isOtherView = link.pathname !== location.pathname
    go(link.pathname + link.search)
    if (isOtherView) scrollTo(0, 0)
  })
}
