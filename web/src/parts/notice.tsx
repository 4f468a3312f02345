import type { ComponentChildren } from 'preact'
import type { Answer } from '../api/use-answer.ts'
import type { Trouble } from '../api/fetch-answer.ts'

/** Something that is not there, and what to do. */
export function Notice({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="notice">
      <p class="notice-title">{title}</p>
      {children}
    </div>
  )
}

const TITLES: Readonly<Record<string, string>> = {
  unknown_cpid: 'Nothing is known of this CPID',
  pruned_cpid: 'This CPID has been pruned',
  malformed_cpid: 'This is no CPID',
  unreachable: 'Causeway does not answer',
}

/** Why an answer is missing or old. */
export function TroubleNotice({ trouble, onRetry }: { trouble: Trouble; onRetry?: () => void }) {
  return (
    <div class="notice trouble" role="alert">
      <p class="notice-title">{TITLES[trouble.code] ?? 'This could not be loaded'}</p>
      <p>{sentence(trouble.message)}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** What stands where an answer will be: loading, or why it does not come. Null once it is there. */
export function Pending({ answer, what }: { answer: Answer<unknown>; what: string }) {
  if (answer.trouble !== undefined)
    return <TroubleNotice trouble={answer.trouble} onRetry={answer.askAgain} />
  if (answer.data !== undefined) return null
  const megabytes = answer.bytes / 1e6
  return (
    <p class="loading" role="status">
      Loading {what} …{megabytes > 1 && ` ${megabytes.toFixed(0)} MB`}
    </p>
  )
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}
