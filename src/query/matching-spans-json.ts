import type { Cpid } from '../model/merge-graph.ts'
import { sentSpan } from '../model/otlp/outgoing-records.ts'
import type { JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { attributesOf, jsonObjectOf, jsonObjectsOf, jsonTextOf, recordJson } from './sent-span-json.ts'
import { SearchEffort } from './trace-search.ts'

const MOST_MS = 10_000

/** Which spans of a cascade contain a text, ignoring case. Spans are read page by page, and only their ids are kept. */
export function* matchingSpansJson(
  queries: CausewayQueries,
  { root, contains, limit }: { root: Cpid; contains: string; limit: number },
  nowMs: () => number,
): Generator<string> {
  const sought = contains.trim().toLowerCase()
  const effort = new SearchEffort(nowMs, () => queries.bytesRead, MOST_MS)
  const spans = new Set<string>()
  search: for (const { traceId } of queries.tracesOf(root)) {
    effort.begin()
    for (const page of queries.traceSent(traceId) ?? []) {
      for (const item of page) {
        const bytes = sentSpan(item)
        const span = bytes === undefined ? {} : recordJson('spans', bytes)
        if (doesContain(span, sought)) spans.add(jsonTextOf(span['spanId']))
        if (spans.size > limit) break search
      }
      if (effort.end()) break search
      yield ''
      effort.begin()
    }
  }
  const partial =
    effort.isOver &&
    `it took longer than ${MOST_MS / 1_000} s, and only the first spans were looked at: download the spans, and search those`
  yield JSON.stringify({
    ...{ root, spans: [...spans].slice(0, limit), truncated: spans.size > limit },
    ...(partial !== false && { partial }),
  })
}

function doesContain(span: JsonObject, sought: string): boolean {
  for (const text of textsOf(span)) if (text.toLowerCase().includes(sought)) return true
  return false
}

function* textsOf(span: JsonObject): Generator<string> {
  yield jsonTextOf(span['name'])
  yield jsonTextOf(jsonObjectOf(span['status'])['message'])
  yield* attributeTexts(span)
  for (const event of jsonObjectsOf(span['events'])) {
    yield jsonTextOf(event['name'])
    yield* attributeTexts(event)
  }
}

/** Each attribute as `key=value`: for a list each element, for a map each entry with its path of keys, as `key.inner=value`. */
function* attributeTexts(of: JsonObject): Generator<string> {
  const left = attributesOf(of)
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [key, value] = next
    const { arrayValue, kvlistValue, ...plain } = value
    const items = jsonObjectsOf(jsonObjectOf(arrayValue)['values'])
    left.push(...items.map((item): [string, JsonObject] => [key, item]))
    for (const [inner, item] of attributesOf({ attributes: jsonObjectOf(kvlistValue)['values'] ?? [] }))
      left.push([`${key}.${inner}`, item])
    for (const text of Object.values(plain)) if (typeof text !== 'object') yield `${key}=${text}`
  }
}
