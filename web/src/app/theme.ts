/** `system` follows the system setting. */
export type Theme = 'system' | 'light' | 'dark'

const KEY = 'causeway-theme'

export function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyStoredTheme()
}

export function applyStoredTheme(): void {
  const theme = storedTheme()
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

/** Calls back when colours may have changed. Returns a function that stops this. */
export function onColoursChanged(callback: () => void): () => void {
  const observer = new MutationObserver(callback)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const media = matchMedia('(prefers-color-scheme: dark)')
  media.addEventListener('change', callback)
  return () => {
    observer.disconnect()
    media.removeEventListener('change', callback)
  }
}
