import { MergelogList } from '../../query/answers/cpids.ts'
import { Facets, Found, ObjectHistory, ObjectVersions } from '../../query/answers/objects.ts'
import { LogList, SpanList } from '../../query/answers/records.ts'
import { DEFAULT_LIMIT, PART, partOf } from './parts.ts'
import { route } from './route.ts'

const MAX_FOUND = 20

export const LIST_ROUTES = [
  route('/mergelogs', {
    summary: 'All mergelogs, oldest first',
    query: PART,
    answer: MergelogList,
    ask: (part) => ({ kind: 'mergelogs', part: partOf(part, DEFAULT_LIMIT) }),
  }),
  route('/spans', {
    summary: 'All spans as received, in the order of arrival',
    query: PART,
    answer: SpanList,
    ask: (part) => ({ kind: 'spans', part: partOf(part, DEFAULT_LIMIT) }),
  }),
  route('/logs', {
    summary: 'All log records as received, in the order of arrival',
    query: PART,
    answer: LogList,
    ask: (part) => ({ kind: 'logs', part: partOf(part, DEFAULT_LIMIT) }),
  }),
  route('/objects', {
    summary: 'What happened to an object, newest first',
    query: ['ref', ...PART],
    answer: ObjectHistory,
    ask: ({ ref, ...part }) => ({ kind: 'objects', ref, part: partOf(part, DEFAULT_LIMIT) }),
  }),
  route('/objects/versions', {
    summary: 'Which versions of an object were written, the highest first: by whom, why, in which cascades',
    query: ['ref', ...PART],
    answer: ObjectVersions,
    ask: ({ ref, ...part }) => ({ kind: 'objectVersions', ref, part: partOf(part, DEFAULT_LIMIT) }),
  }),
  route('/find', {
    summary:
      "What a CPID, how one begins, a trace id or a part of an object's name leads to; at most `limit` (20) of each",
    query: ['q', 'actor', 'namespace', 'limit'],
    answer: Found,
    ask: ({ q: text, actor, namespace, limit = MAX_FOUND }) => ({
      kind: 'find',
      text,
      limit,
      filter: { ...(actor !== undefined && { actor }), ...(namespace !== undefined && { namespace }) },
    }),
  }),
  route('/facets', {
    summary: 'Services, clusters, actors, namespaces and kinds of objects seen lately, at most 200 of each',
    answer: Facets,
    ask: () => ({ kind: 'facets' }),
  }),
]
