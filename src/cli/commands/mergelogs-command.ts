import type { MergelogFacts, Pages } from '../../model/ports/query-port.ts'
import { PageCut } from '../../query/page-cut.ts'
import { rfc3339 } from '../../model/rfc3339.ts'
import { cpidOf, limitOf, wantsJson } from '../arguments.ts'
import type { Run } from './command.ts'
import { found, writeJson } from '../found.ts'
import { withQueries } from '../open-store.ts'
import { AlignedRows } from '../text/aligned-rows.ts'
import { objectText, plain } from '../text/show.ts'

export const runMergelogs: Run = (line, io) => {
  const json = wantsJson(line)
  const [text] = line.args
  const named = text === undefined ? undefined : cpidOf(text)
  const limit = limitOf(line, undefined)
  return withQueries(line, io, (queries) => {
    const cpid = named?.(queries)
    if (json) {
      const part = limit === undefined ? {} : { limit }
      writeJson(io.stdout, queries, { kind: 'mergelogs', part, ...(cpid !== undefined && { cpid }) }, cpid)
      return 0
    }
    const pages: Pages<MergelogFacts> =
      cpid === undefined ? queries.mergelogs(undefined) : found(cpid, queries.mergelogsOf(cpid, undefined))
    const cut = new PageCut(limit)
    const aligned = new AlignedRows()
    let isEmpty = true
    for (const page of cut.take(pages)) {
      isEmpty &&= page.length === 0
      io.stdout.write(aligned.lines(page.map(rowOf)))
    }
    if (isEmpty)
      io.stderr.write('Note: there are no mergelogs; see with causeway doctor whether any arrive\n')
    if (cut.next !== undefined) io.stderr.write('Note: there are more; raise --limit to see them\n')
    return 0
  })
}

/** The sources come last, since there may be many. */
function rowOf({ timeNs, cpid, service, object, reason, sources }: MergelogFacts): string[] {
  const from = sources.length === 0 ? 'root' : `<- ${sources.join(' ')}`
  return [rfc3339(timeNs), cpid, plain(service), objectText(object), plain(reason), from]
}
