interface OlderButtonProps {
  /** The cursor of the next page; nothing if there is none. */
  next: string | null | undefined
  older: { readonly isLoading: boolean; readonly load: (after: string) => Promise<void> }
  children: preact.ComponentChildren
}

/** Loads older items. */
export function OlderButton({ next, older, children }: OlderButtonProps) {
  if (!next) return null
  return (
    <p class="more">
      <button type="button" onClick={() => void older.load(next)} disabled={older.isLoading}>
        {older.isLoading ? 'Loading …' : children}
      </button>
    </p>
  )
}
