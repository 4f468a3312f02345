interface OlderButtonProps {
  /** What asks for the rest; nothing when there is none. */
  next: string | null | undefined
  older: { readonly isLoading: boolean; readonly load: (after: string) => Promise<void> }
  children: preact.ComponentChildren
}

/** Asks for what came before. */
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
