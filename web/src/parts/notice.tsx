import type { ComponentChildren } from 'preact'
import type { Answer } from '../api/use-answer.ts'
import type { Trouble } from '../api/fetch-answer.ts'

interface NoticeProps {
  title: string
  /** It is the only content of the page. */
  isPage?: boolean
  children?: ComponentChildren
}

/** A notice that something is missing, and what to do. */
export function Notice({ title, isPage = false, children }: NoticeProps) {
  return (
    <div class="notice">
      <Title isPage={isPage} title={title} />
      {children}
    </div>
  )
}

/** What an answer lacks, and why. */
export function PartialNotice({ of }: { of: { readonly partial?: string | undefined } | undefined }) {
  if (of?.partial === undefined) return null
  return (
    <Notice title="This answer is not complete">
      <p>{sentence(of.partial)}</p>
    </Notice>
  )
}

const TITLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    unknown_cpid: 'Nothing is known of this CPID',
    pruned_cpid: 'This CPID has been pruned',
    archived: 'Only the archive knows of it',
    archive_silent: 'The archive does not answer',
    malformed_cpid: 'This is not a CPID',
    unreachable: 'Causeway does not answer',
    unauthenticated: 'You are not logged in',
  }),
)

interface TroubleNoticeProps {
  trouble: Trouble
  onRetry?: () => void
  isPage?: boolean
}

/** Why an answer is missing or outdated. */
export function TroubleNotice({ trouble, onRetry, isPage = false }: TroubleNoticeProps) {
  return (
    <div class="notice trouble" role="alert">
      <Title isPage={isPage} title={TITLES.get(trouble.code) ?? 'This could not be loaded'} />
      <p>{sentence(trouble.message)}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

interface PendingProps {
  answer: Answer<unknown>
  what: string
  isPage?: boolean
}

/** The placeholder for an answer: loading, or why it does not arrive. Null once the answer is there. */
export function Pending({ answer, what, isPage = false }: PendingProps) {
  if (answer.trouble !== undefined) {
    return <TroubleNotice trouble={answer.trouble} onRetry={answer.askAgain} isPage={isPage} />
  }
  if (answer.data !== undefined && !answer.isLoading) return null
  const megabytes = answer.bytes / 1e6
  const text = `Loading ${what} …${megabytes > 1 ? ` ${megabytes.toFixed(0)} MB` : ''}`
  return (
    <div class="loading" role="status">
      {isPage ? <Title isPage title={text} /> : text}
    </div>
  )
}

function Title({ title, isPage }: { title: string; isPage: boolean }) {
  return isPage ? <h1 class="notice-title">{title}</h1> : <p class="notice-title">{title}</p>
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capital) ? capital : `${capital}.`
}
