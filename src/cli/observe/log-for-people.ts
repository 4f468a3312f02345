import { EVERYTHING_LISTED } from '../../model/kubernetes/everything-listed.ts'
import { plain } from '../text/show.ts'

export interface LogReader {
  /** All that is to be watched was listed. */
  readonly listed: (resources: string) => void
  /** Somebody should see to something. */
  readonly complaint: (text: string) => void
}

type Line = Readonly<Record<string, string | undefined>>

/** Takes lines of the log in JSON, and tells of those that say something to whoever watches a terminal. */
export function logForPeople({ listed, complaint }: LogReader): (line: string) => void {
  return (text) => {
    const line = JSON.parse(text) as Line
    if (line['msg'] === EVERYTHING_LISTED) listed(plain(line['resources']))
    else if (line['level'] !== 'info' && line['level'] !== 'debug')
      complaint(plain([line['msg'], line['reason']].filter((part) => part !== undefined).join(' ')))
  }
}
