import type { Cpid } from '../model/cpid.ts'
import type { Pages, Placed } from '../model/ports/query-port.ts'
import { PageCut } from './page-cut.ts'
import type { Part } from './question.ts'

/** `{"<name>":[...],"next":...}`, where `next` is null unless the limit cut something off. */
export function* listJson<T extends Placed>(
  name: string,
  pages: Pages<T>,
  { limit }: Part,
  toJson: (item: T) => unknown,
): Generator<string> {
  const cut = new PageCut(limit)
  yield `{"${name}":[`
  yield* elements(cut.take(pages), toJson)
  yield `],"next":${JSON.stringify(cut.next ?? null)}}`
}

/** `{"cpid":"...","<name>":["...",...]}` */
export function* cpidListJson(cpid: Cpid, name: string, pages: Pages<Cpid>): Generator<string> {
  yield `{"cpid":"${cpid}","${name}":[`
  let separator = ''
  for (const page of pages) {
    yield page.length === 0 ? '' : `${separator}"${page.join('","')}"`
    if (page.length > 0) separator = ','
  }
  yield ']}'
}

function* elements<T>(pages: Pages<T>, toJson: (item: T) => unknown): Generator<string> {
  let separator = ''
  for (const page of pages) {
    if (page.length === 0) {
      yield ''
      continue
    }
    yield separator + page.map((item) => JSON.stringify(toJson(item))).join(',')
    separator = ','
  }
}
