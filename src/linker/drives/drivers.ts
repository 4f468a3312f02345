import type { CpidNode } from '../../model/ports/graph-port.ts'
import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import type { ObjectVersion } from '../../model/ports/object-port.ts'
import { endsLater, highestOfEach } from '../causes/causes.ts'

/** Those of its listed roots whose activity something is (docs/linking.md, rule 6); undefined for all of them. What joined is of none. */
export type Drivers = readonly number[] | undefined

type Asked = Pick<LinkPorts, 'events' | 'spans' | 'objects' | 'mergelogs' | 'outbox' | 'traces' | 'waiting'>

const NONE: Drivers = []

/** Objects whose writers are looked for in the traces of each root, where nobody is known to have written the observed version. */
const MAX_SEARCHED = 16
/** Writes of one object that are looked at in a trace. */
const MAX_WRITERS = 8

/**
 * What drives a span: what drives its local parent; without one that arrived the changes that it began itself, whatever it
 * read; else what drives its cause, of those in all its traces. One that has nothing of this is driven by all its roots, and so
 * is one that nothing drives any more that is listed.
 */
export function driversOf(ctx: Asked, span: ArrivedSpan, roots: readonly CpidNode[]): Drivers {
  if (span.joined) return NONE
  if (roots.length < 2) return undefined
  const driving = isSent(ctx, span.parentRow) ? rootsDriving(ctx, span.parentRow) : []
  if (driving.length > 0) return listedOf(driving, roots)
  const begun = roots.flatMap(({ id }) => (began(ctx, span, id) ? id : []))
  if (begun.length > 0) return begun
  return span.observes ? driversByCause(ctx, span, roots) : undefined
}

/** What drives a change: what drives the span that told of it, if that is known. */
export function driversOfChange(ctx: Asked, cpid: number, roots: readonly CpidNode[]): Drivers {
  if (roots.length < 2) return undefined
  const told = ctx.mergelogs.toldBy(cpid)
  const row = told && ctx.spans.find(told.traceId, told.spanId)
  return isSent(ctx, row) ? listedOf(rootsDriving(ctx, row), roots) : undefined
}

/** What of the drivers of something is left where it goes: all its traces, when none of them is of a driver. */
export function driversIn(traces: readonly Trace[], drivers: Drivers): Drivers {
  if (drivers?.length === 0) return drivers
  return drivers !== undefined && traces.some((trace) => drivers.includes(trace.root)) ? drivers : undefined
}

export function drives(drivers: Drivers, trace: Trace): boolean {
  return drivers === undefined || drivers.includes(trace.root)
}

/** The roots whose activity a span is that was sent. */
export function rootsDriving({ outbox, traces }: Pick<Asked, 'outbox' | 'traces'>, row: number): number[] {
  const roots = new Set<number>()
  for (const id of outbox.tracesDriven(row)) {
    const trace = traces.trace(id)
    if (trace !== undefined) roots.add(trace.root)
  }
  return [...roots]
}

/** True of a span that has arrived and waits for nothing any more. */
export function isSent(
  { events, waiting }: Pick<Asked, 'events' | 'waiting'>,
  row: number | undefined,
): row is number {
  return row !== undefined && events.isLinked(row) && !waiting.hasSpan(row)
}

function began({ mergelogs, spans }: Asked, span: ArrivedSpan, root: number): boolean {
  const told = mergelogs.toldBy(root)
  return told?.spanId === span.spanId && spans.find(told.traceId, told.spanId) === span.row
}

function listedOf(driving: readonly number[], roots: readonly CpidNode[]): Drivers {
  const listed = driving.filter((root) => roots.some(({ id }) => id === root))
  return listed.length === 0 ? undefined : listed
}

interface Writer {
  readonly span: ArrivedSpan
  readonly driving: readonly number[]
}

/** As causal parents are found (docs/linking.md, rule 4), in all traces at once: how deep it hangs there does not matter. */
function driversByCause(ctx: Asked, span: ArrivedSpan, roots: readonly CpidNode[]): Drivers {
  let last: Writer | undefined
  let searched = 0
  for (const version of highestOfEach(ctx.objects.versions(span.row, 'observed'))) {
    const row = ctx.objects.writerOf(version)
    let found = row === undefined ? undefined : writerAt(ctx, span, row, roots)
    if (found === undefined && searched++ < MAX_SEARCHED) found = highestWriter(ctx, span, version, roots)
    if (found !== undefined && (last === undefined || endsLater(found.span, last.span))) last = found
  }
  return last?.driving
}

function writerAt(
  ctx: Asked,
  span: ArrivedSpan,
  row: number,
  roots: readonly CpidNode[],
): Writer | undefined {
  if (row === span.row || !isSent(ctx, row)) return undefined
  const driving = listedOf(rootsDriving(ctx, row), roots)
  const writer = driving === undefined ? undefined : ctx.spans.span(row)
  if (writer === undefined || driving === undefined || writer.origin === span.origin) return undefined
  return { span: writer, driving }
}

/** Who wrote the highest version up to one, in the newest cascades of the roots. */
function highestWriter(
  ctx: Asked,
  span: ArrivedSpan,
  version: ObjectVersion,
  roots: readonly CpidNode[],
): Writer | undefined {
  let highest: Writer | undefined
  for (const root of roots) {
    const trace = ctx.traces.currentOf(root.id)
    if (trace === undefined) continue
    for (const row of ctx.objects.writersIn(trace.cascade, version, MAX_WRITERS)) {
      const found = writerAt(ctx, span, row, roots)
      if (found === undefined) continue
      if (highest === undefined || wroteLater(ctx, version, found.span, highest.span)) highest = found
      break
    }
  }
  return highest
}

function wroteLater(ctx: Asked, upTo: ObjectVersion, a: ArrivedSpan, b: ArrivedSpan): boolean {
  if (a.row === b.row) return false
  const [ofA, ofB] = [writtenVersion(ctx, upTo, a.row), writtenVersion(ctx, upTo, b.row)]
  return ofA > ofB || (ofA === ofB && endsLater(a, b))
}

function writtenVersion({ objects }: Asked, upTo: ObjectVersion, row: number): bigint {
  let highest = -1n
  for (const { object, version } of objects.versions(row, 'wrote')) {
    if (object === upTo.object && version <= upTo.version && version > highest) highest = version
  }
  return highest
}
