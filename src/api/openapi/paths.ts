import { list, object, oneOf, orNull, ref, text, type Schema } from './schema.ts'

/** One path of the API; braces stand for parameters, which are described in PATH_PARAMETERS. */
export interface ApiPath {
  readonly path: string
  readonly summary: string
  /** Names out of QUERY_PARAMETERS. */
  readonly query: readonly string[]
  readonly answer: Schema
  /** Statuses of the failures it may have. */
  readonly failures: readonly number[]
}

const PART = ['limit', 'after']
const ABOUT_CPID = [400, 404, 410]
const listOf = (name: string, item: string): Schema => object({ [name]: list(ref(item)), next: ref('Next') })
const records = (name: string, item: string): Schema =>
  object({ [name]: list(ref(item)), next: ref('Next') }, ['next'])
const cpids = (name: string): Schema => object({ cpid: ref('Cpid'), [name]: list(ref('Cpid')) })

export const PATHS: readonly ApiPath[] = [
  {
    path: '/cpids/{cpid}',
    summary: 'What is known of a CPID',
    query: [],
    answer: ref('CpidFacts'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/related',
    summary: 'The CPID and every CPID reachable from it, by mergelog time',
    query: [],
    answer: cpids('related'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/ancestors',
    summary: 'Its ancestors, nearest first',
    query: [],
    answer: cpids('ancestors'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/roots',
    summary: 'Its ancestors without sources; a root is its own',
    query: [],
    answer: cpids('roots'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/mergelogs',
    summary: 'The mergelogs of its related CPIDs; whole unless `limit` is given',
    query: PART,
    answer: listOf('mergelogs', 'Mergelog'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/spans',
    summary: 'The spans of its related CPIDs as received; whole unless `limit` is given',
    query: PART,
    answer: records('resourceSpans', 'ResourceSpans'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/logs',
    summary: 'The log records of its related CPIDs as received; whole unless `limit` is given',
    query: PART,
    answer: records('resourceLogs', 'ResourceLogs'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/cascades',
    summary: 'The cascades in which it takes part, newest first',
    query: PART,
    answer: listOf('cascades', 'CascadeOutline'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cpids/{cpid}/graph',
    summary: 'The merge graph around it: ancestors and descendants, nearest first, at most `limit` (200)',
    query: ['limit'],
    answer: ref('Graph'),
    failures: ABOUT_CPID,
  },
  {
    path: '/mergelogs',
    summary: 'All mergelogs, oldest first',
    query: PART,
    answer: listOf('mergelogs', 'Mergelog'),
    failures: [400],
  },
  {
    path: '/spans',
    summary: 'All spans as received, in the order of arrival',
    query: PART,
    answer: records('resourceSpans', 'ResourceSpans'),
    failures: [400],
  },
  {
    path: '/logs',
    summary: 'All log records as received, in the order of arrival',
    query: PART,
    answer: records('resourceLogs', 'ResourceLogs'),
    failures: [400],
  },
  {
    path: '/cascades',
    summary: 'Cascades, newest first',
    query: ['state', 'object', 'service', 'cluster', 'from', 'to', ...PART],
    answer: listOf('cascades', 'CascadeOutline'),
    failures: [400],
  },
  {
    path: '/cascades/{root}',
    summary: 'A cascade: its spans as trees, where its time went, its critical path, its mergelogs',
    query: [],
    answer: ref('Cascade'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cascades/{root}/compare/{other}',
    summary: 'Two cascades beside one another: what got slower',
    query: [],
    answer: ref('Comparison'),
    failures: ABOUT_CPID,
  },
  {
    path: '/cascades/{root}/spans/{spanId}',
    summary: 'One span as it was sent out',
    query: ['trace'],
    answer: object({ resourceSpans: list(ref('ResourceSpans')) }),
    failures: ABOUT_CPID,
  },
  {
    path: '/objects',
    summary: 'What happened to an object, newest first',
    query: ['ref', ...PART],
    answer: listOf('objects', 'ObjectHappening'),
    failures: [400],
  },
  {
    path: '/find',
    summary: "What a CPID, a trace id or a part of an object's name leads to; at most `limit` (20) of each",
    query: ['q', 'limit'],
    answer: object({
      cpid: orNull(object({ cpid: ref('Cpid'), state: oneOf('known', 'pruned', 'unknown') })),
      cascades: list(ref('CascadeOutline')),
      objects: list(text()),
    }),
    failures: [400],
  },
  {
    path: '/facets',
    summary: 'Services, clusters and kinds of objects seen lately, at most 200 of each',
    query: [],
    answer: object({ services: list(text()), clusters: list(text()), kinds: list(text()) }),
    failures: [400],
  },
  {
    path: '/dashboard',
    summary: 'What the dashboard needs to know of the configuration',
    query: [],
    answer: object({
      traceUrl: orNull(text('with {trace_id} and {span_id} to be filled in')),
      version: text(),
    }),
    failures: [400],
  },
  {
    path: '/openapi.json',
    summary: 'This document',
    query: [],
    answer: { type: 'object' },
    failures: [400],
  },
]
