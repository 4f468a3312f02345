import { useState } from 'preact/hooks'
import { chooseTheme, storedTheme, type Theme } from '../app/theme.ts'

/** Light, dark, or the system setting. */
export function ThemeChoice() {
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
