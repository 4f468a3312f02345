import { EVERYTHING_LISTED } from '../../model/kubernetes/everything-listed.ts'
import { NOTICE } from '../../app/metrics/notice.ts'
import { plain } from '../text/show.ts'

export interface LogReader {
  /** All that is to be watched was listed: so many resources, and so many more may not be. */
  readonly listed: (resources: number, refused: number) => void
  /** Somebody should see to something. */
  readonly complaint: (text: string) => void
}

type Line = Readonly<Record<string, string | undefined>>

/** Takes lines of the log in JSON, and tells of those that say something to whoever watches a terminal. */
export function logForPeople({ listed, complaint }: LogReader): (line: string) => void {
  return (text) => {
    const line = JSON.parse(text) as Line
    if (line['msg'] === EVERYTHING_LISTED) listed(Number(line['resources']), Number(line['refused'] ?? 0))
    else if (line['level'] !== 'info' && line['level'] !== 'debug') complaint(plain(wordsOf(line)))
  }
}

/** That something needs to be looked at is clear on a terminal. */
function wordsOf({ msg, reason }: Line): string {
  const parts = msg === NOTICE && reason !== undefined ? [reason] : [msg, reason]
  return parts.filter((part) => part !== undefined).join(' ')
}
