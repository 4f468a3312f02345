import { Ancestors, CpidFactsAnswer, MergelogList, RelatedCpids, Roots } from '../../query/answers/cpids.ts'
import { CascadeList } from '../../query/answers/cascades.ts'
import { Graph } from '../../query/answers/graph.ts'
import { LogList, SpanList } from '../../query/answers/records.ts'
import { ABOUT_CPID, DEFAULT_LIMIT, PART, partOf } from './parts.ts'
import { route } from './route.ts'

const GRAPH_NODES = 200

export const CPID_ROUTES = [
  route('/cpids/{cpid}', {
    summary: 'What is known of a CPID',
    answer: CpidFactsAnswer,
    failures: ABOUT_CPID,
    ask: ({ cpid }) => ({ kind: 'cpid', cpid }),
  }),
  route('/cpids/{cpid}/related', {
    summary: 'The CPID and every CPID reachable from it, by mergelog time',
    answer: RelatedCpids,
    failures: ABOUT_CPID,
    ask: ({ cpid }) => ({ kind: 'related', cpid }),
  }),
  route('/cpids/{cpid}/ancestors', {
    summary: 'Its ancestors, nearest first',
    answer: Ancestors,
    failures: ABOUT_CPID,
    ask: ({ cpid }) => ({ kind: 'ancestors', cpid }),
  }),
  route('/cpids/{cpid}/roots', {
    summary: 'Its ancestors without sources; a root is its own',
    answer: Roots,
    failures: ABOUT_CPID,
    ask: ({ cpid }) => ({ kind: 'roots', cpid }),
  }),
  route('/cpids/{cpid}/mergelogs', {
    summary: 'The mergelogs of its related CPIDs; whole unless `limit` is given',
    query: PART,
    answer: MergelogList,
    failures: ABOUT_CPID,
    ask: ({ cpid, ...part }) => ({ kind: 'mergelogs', cpid, part: partOf(part) }),
  }),
  route('/cpids/{cpid}/spans', {
    summary: 'The spans of its related CPIDs as received; whole unless `limit` is given',
    query: PART,
    answer: SpanList,
    failures: ABOUT_CPID,
    ask: ({ cpid, ...part }) => ({ kind: 'spans', cpid, part: partOf(part) }),
  }),
  route('/cpids/{cpid}/logs', {
    summary: 'The log records of its related CPIDs as received; whole unless `limit` is given',
    query: PART,
    answer: LogList,
    failures: ABOUT_CPID,
    ask: ({ cpid, ...part }) => ({ kind: 'logs', cpid, part: partOf(part) }),
  }),
  route('/cpids/{cpid}/cascades', {
    summary: 'The cascades in which it takes part, newest first',
    query: PART,
    answer: CascadeList,
    failures: ABOUT_CPID,
    ask: ({ cpid, ...part }) => ({ kind: 'cascadesOf', cpid, part: partOf(part, DEFAULT_LIMIT) }),
  }),
  route('/cpids/{cpid}/graph', {
    summary: 'The merge graph around it: ancestors and descendants, nearest first, at most `limit` (200)',
    query: ['limit'],
    answer: Graph,
    failures: ABOUT_CPID,
    ask: ({ cpid, limit = GRAPH_NODES }) => ({ kind: 'graph', cpid, limit }),
  }),
]
