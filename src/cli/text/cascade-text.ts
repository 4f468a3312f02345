import type { CascadeFacts, CausewayQueries } from '../../model/ports/query-port.ts'
import { wholeAnalysis } from '../../query/cascade/cascade-analysis.ts'
import { CascadeFold } from '../../query/cascade/fold-cascade.ts'
import { rfc3339 } from '../../model/rfc3339.ts'
import { spanTree } from '../../query/cascade/span-tree.ts'
import type { ServiceTime } from '../../query/cascade/time-per-service.ts'
import { wholeCascades } from '../../query/cascade/whole-cascades.ts'
import { actorText } from './actor-text.ts'
import { count, duration, plain } from './show.ts'
import { cascadeTree } from './cascade-tree.ts'
import { criticalPathText } from './critical-path-text.ts'
import type { Terminal } from './terminal.ts'
import { textTable } from './text-table.ts'

const MISSING_NAMED = 20

/** A cascade for people: what it comes to, its traces as trees, its critical path, and the time of each service. */
export function* cascadeText(
  queries: CausewayQueries,
  facts: CascadeFacts,
  screen: Terminal,
  all: boolean,
): Generator<string> {
  yield* linesOf([...heading(facts), ...missing(queries, facts)])
  for (const traces of wholeCascades(queries.tracesOf(facts.root))) {
    yield '\n'
    const fold = new CascadeFold(traces)
    for (const [at, trace] of traces.entries()) {
      const which = trace.episode === 0 ? 'main trace' : `episode ${trace.episode}, trace`
      const goesOn = at === 0 ? '' : 'goes on, since a trace was full, in '
      yield `${goesOn}${which} ${trace.traceId.toString('hex')} (${stateWord(trace.open)})\n`
      fold.add(trace, queries.linkedSpans(trace.id))
    }
    yield* cascadeTree(spanTree(fold.spans()), facts, screen, all)
  }
  const { services, path } = wholeAnalysis(queries, facts.root)
  if (services.length === 0) return
  if (path.length > 0) yield* linesOf(['', ...criticalPathText(path, facts, all)])
  yield '\n'
  yield* linesOf(timeTable(services, facts))
}

function heading(facts: CascadeFacts): string[] {
  const { root, open, startNs, lastNs, spans, services, merges, truncated, clockSkew, gaps } = facts
  return [
    `cascade of ${root} (${stateWord(open)})`,
    `  object         ${plain(facts.object)}`,
    `  begun by       ${actorText(facts.actor, facts.service)}`,
    `  start          ${rfc3339(startNs)}`,
    `  last activity  ${rfc3339(lastNs)}, ${duration(lastNs - startNs)} after the start`,
    `  made of        ${count(spans, 'span')} of ${count(services, 'service')}, ${count(merges, 'merge')}`,
    ...(open ? ['  open: more may arrive; it settles after settle_after of silence'] : []),
    ...(truncated
      ? [
          '  truncated: something in it descends from more than max_fanout open roots, and went on only with the newest',
        ]
      : []),
    ...(gaps > 0
      ? [
          `  gaps: versions before ${count(gaps, 'write')} were not seen, so that what happened between may be missing`,
        ]
      : []),
    ...(clockSkew
      ? [
          '  clock skew: some times cannot be, and are left out of start and end; see that the clocks of all nodes are set',
        ]
      : []),
  ]
}

function missing(queries: CausewayQueries, { root, missing: number }: CascadeFacts): string[] {
  if (number === 0) return []
  const named = queries.missingIn(root, MISSING_NAMED)
  return [
    `  missing: the mergelogs of ${count(number, 'CPID')}, so that something may stand in the wrong place`,
    ...named.map((cpid) => `    ${cpid}`),
    ...(number > named.length && named.length > 0 ? [`    and ${number - named.length} more`] : []),
  ]
}

function timeTable(totals: readonly ServiceTime[], { startNs }: CascadeFacts): string[] {
  const rows = totals.map(({ service, totalNs, spans, firstNs, lastNs }) => [
    plain(service),
    duration(totalNs),
    String(spans),
    duration(firstNs - startNs),
    duration(lastNs - startNs),
  ])
  return textTable(['service', ' time in spans', ' spans', ' first start', ' last end'], rows)
}

function* linesOf(lines: readonly string[]): Generator<string> {
  for (const line of lines) yield `${line}\n`
}

function stateWord(open: boolean): string {
  return open ? 'open' : 'settled'
}
