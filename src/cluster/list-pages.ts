import { arrayIn, isObject, objectIn, textIn, type JsonObject } from '../kubernetes/json-access.ts'
import { AnswerTooLong, type ApiServer } from './api-server.ts'
import { acceptOf, pathOfResource, type WatchedResource } from './watched-resource.ts'

export interface Page {
  readonly items: readonly JsonObject[]
  /** How long it was. */
  readonly version: string
  readonly isLast: boolean
}

const FIRST_LIMIT = 250
const FEWER = 5

/**
 * A list, page by page, each of at most `maxPageBytes`: what is longer is asked for again in smaller pages, and a single object may
 * have `maxObjectBytes`. Throws as `ApiServer.json` does; an ApiError that says Expired when it took too long.
 */
export async function* listPages(
  server: ApiServer,
  watched: WatchedResource,
  { maxPageBytes, maxObjectBytes }: { maxPageBytes: number; maxObjectBytes: number },
  signal: AbortSignal,
): AsyncGenerator<Page> {
  let limit = FIRST_LIMIT
  let after = ''
  for (;;) {
    const path = pathOfResource(watched, { limit, ...(after !== '' && { continue: after }) })
    const asked = { signal, accept: acceptOf(watched, 'list') }
    let page
    try {
      page = await server.json(path, limit === 1 ? maxObjectBytes : maxPageBytes, asked)
    } catch (error) {
      if (!(error instanceof AnswerTooLong) || limit === 1) throw error
      limit = Math.ceil(limit / FEWER)
      continue
    }
    const metadata = objectIn(page, 'metadata')
    after = textIn(metadata, 'continue')
    yield {
      items: arrayIn(page, 'items').filter(isObject),
      version: textIn(metadata, 'resourceVersion'),
      isLast: after === '',
    }
    if (after === '') return
  }
}
