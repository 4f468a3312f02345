import type { CascadeFilter } from '../../model/ports/query-port.ts'
import { Cascade, CascadeList, Comparison } from '../../query/answers/cascades.ts'
import { SpanList } from '../../query/answers/records.ts'
import { ABOUT_CPID, DEFAULT_LIMIT, PART, partOf } from './parts.ts'
import { route } from './route.ts'

export const CASCADE_ROUTES = [
  route('/cascades', {
    summary: 'Cascades, newest first',
    query: ['state', 'object', 'service', 'cluster', 'actor', 'namespace', 'from', 'to', ...PART],
    answer: CascadeList,
    ask: ({ state, object, service, cluster, actor, namespace, from, to, ...part }) => {
      const filter: CascadeFilter = {
        ...(state !== undefined && { state }),
        ...(object !== undefined && { object }),
        ...(service !== undefined && { service }),
        ...(cluster !== undefined && { cluster }),
        ...(actor !== undefined && { actor }),
        ...(namespace !== undefined && { namespace }),
        ...(from !== undefined && { fromNs: from }),
        ...(to !== undefined && { toNs: to }),
      }
      return { kind: 'cascades', filter, part: partOf(part, DEFAULT_LIMIT) }
    },
  }),
  route('/cascades/{root}', {
    summary: 'A cascade: its spans as trees, where its time went, its critical path, its mergelogs',
    answer: Cascade,
    failures: ABOUT_CPID,
    ask: ({ root }) => ({ kind: 'cascade', root }),
  }),
  route('/cascades/{root}/compare/{other}', {
    summary: 'Two cascades beside one another: what got slower',
    answer: Comparison,
    failures: ABOUT_CPID,
    ask: ({ root, other }) => ({ kind: 'compare', a: root, b: other }),
  }),
  route('/cascades/{root}/spans/{spanId}', {
    summary: 'One span as it was sent out',
    query: ['trace'],
    answer: SpanList,
    failures: ABOUT_CPID,
    ask: ({ root, spanId, trace }) => ({
      kind: 'span',
      root,
      spanId,
      ...(trace !== undefined && { traceId: trace }),
    }),
  }),
]
