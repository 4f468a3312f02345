import {
  CPID_CONTINUED_IN_TRACE_ID,
  CPID_CONTINUES_TRACE_ID,
  CPID_EPISODE,
  CPID_ID,
  CPID_OBJECT,
  CPID_TIME,
} from '../model/attributes.ts'
import type { ArrivedSpan, LinkPorts, Trace } from '../model/linking-ports.ts'
import { type CpidNode, firstEpisode } from '../model/merge-graph.ts'
import { NANOS_PER_MS, rfc3339, type UnixNanos } from '../model/time-and-size.ts'
import type { Drivers } from './causes.ts'
import { sendCascadeSpan, sendRootChange } from './change-spans.ts'
import type { LinkContext } from './link-context.ts'
import {
  changeName,
  changeSpanId,
  changeTime,
  derivedSpanId,
  extendBounds,
  lacksPlausibleTime,
  numberBytes,
  openingTime,
  possibleTime,
  sendSynthetic,
  stampIn,
  traceIdOf,
} from './synthetic-spans.ts'
import { changeBytes, hasRoomFor, hasShareFor } from './trace-room.ts'

/** What decides the traces of a span or change: its CPID, that CPID's listed roots, and which of them drive it. */
interface RoutingInput {
  readonly cpid: number
  readonly roots: readonly CpidNode[]
  readonly drivers: Drivers
}

/** A trace to send into, and whether the span is activity of the trace's root. */
interface Destination {
  readonly trace: Trace
  readonly driven: boolean
}

/**
 * The traces that activity of a CPID goes into now: those of its listed roots that are open, driving roots first, each time the
 * newest. When all driving roots have settled, the episode of the newest comes first, whatever episodes the older ones have
 * open (docs/linking.md, rules 5 to 7). Each has room for a span of `bytes`, if that is not 0, and for the change span of the
 * CPID. Traces without room for another guest are left out for a guest's span, so there may be none. If no trace is of a
 * driving root, the span is activity of all of them, unless nothing drives it.
 */
export function tracesFor(
  ctx: LinkContext,
  { cpid, roots, drivers }: RoutingInput,
  activityNs: UnixNanos,
  bytes = 0,
  span?: ArrivedSpan,
): Destination[] {
  const open: Destination[] = []
  let copies: Trace[] | undefined
  let isLeftOut = false
  let newest: CpidNode | undefined
  for (const root of roots) {
    const isDriver = drivers === undefined || drivers.includes(root.id)
    if (isDriver) newest ??= root
    // The mergelog of such a root is stored; if the linker has not come to it yet, its trace is opened now.
    const opens = isDriver || root.hasMergelog
    const trace = ctx.traces.currentOf(root.id) ?? (opens ? openFirst(ctx, root, activityNs) : undefined)
    if (!keepsRootOpen(trace)) continue
    if (span !== undefined && !hasShareFor(ctx, trace, span)) {
      isLeftOut ||= isDriver
      continue
    }
    const into = withRoom(ctx, trace, { cpid, activityNs, bytes, driven: isDriver })
    if (isDriver) open.push({ trace: into, driven: true })
    else (copies ??= []).push(into)
  }
  if (open.length === 0 && newest !== undefined && !isLeftOut) {
    const episode = ctx.traces.currentOf(newest.id)
    if (episode?.open !== true) open.push({ trace: openEpisode(ctx, newest, activityNs), driven: true })
    else if (span === undefined || hasShareFor(ctx, episode, span)) {
      const into = withRoom(ctx, episode, { cpid, activityNs, bytes, driven: true })
      open.push({ trace: into, driven: true })
    }
  }
  if (copies === undefined) return open
  const driven = open.length === 0 && drivers?.length !== 0
  return [...open, ...copies.map((trace) => ({ trace, driven }))]
}

/**
 * The same for what is sent again: only traces that are open. A driving root without a trace gets its first one; a settled root
 * gets no episode.
 */
export function openTracesOf(
  ctx: LinkContext,
  { cpid, roots, drivers }: RoutingInput,
  activityNs: UnixNanos,
  bytes = 0,
  isLeftOut: (trace: Trace) => boolean = none,
): Destination[] {
  const current = roots.map((root) => {
    const opens = drivers === undefined || drivers.includes(root.id)
    return ctx.traces.currentOf(root.id) ?? (opens ? openFirst(ctx, root, activityNs) : undefined)
  })
  const open = current.filter(keepsRootOpen)
  if (open.length === 0 && current[0]?.open === true) open.push(current[0])
  return open
    .filter((trace) => !isLeftOut(trace))
    .map((trace) => {
      const driven = drivers === undefined || drivers.includes(trace.root)
      return { trace: withRoom(ctx, trace, { cpid, activityNs, bytes, driven }), driven }
    })
}

const none = (): boolean => false

/** True of an open trace whose root has not settled. An episode that began after that is open, but its root is not. */
export function keepsRootOpen(trace: Trace | undefined): trace is Trace {
  return trace?.open === true && (trace.episode === 0 || trace.continuesRoot)
}

/** In modes that send no span twice, every CPID is the root of its own trace. */
export function listedRoots({ graph, settings, ancestry }: LinkContext, cpid: number): CpidNode[] {
  const self = graph.node(cpid)
  if (settings.mode !== 'cascade') return [self]
  const roots = ancestry.roots(cpid).flatMap((root) => graph.maybeNode(root) ?? [])
  return roots.length === 0 ? [self] : roots
}

/** Opens the main trace of a root that has none yet; a root with a tombstone continues with episodes. */
function openFirst(ctx: LinkContext, root: CpidNode, activityNs: UnixNanos): Trace | undefined {
  if (firstEpisodeOf(ctx, root) > 0) return undefined
  const mergelog = ctx.mergelogs.find(root.id)
  const changeNs = mergelog === undefined ? [] : [changeTime(mergelog)]
  const ns = openingTime(ctx, root.id, [...changeNs, activityNs])
  const trace = addTrace(ctx, root, { episode: 0, firstNs: ns })
  for (const changed of changeNs) extendBounds(ctx, trace, changed, changed)
  if (ctx.settings.mode === 'cascade') sendRootChange(ctx, trace, root, ns)
  return trace
}

function openEpisode(ctx: LinkContext, root: CpidNode, activityNs: UnixNanos, full?: Trace): Trace {
  const previous = ctx.traces.currentOf(root.id)
  const mergelog = ctx.mergelogs.find(root.id)
  const number = previous === undefined ? Math.max(firstEpisodeOf(ctx, root), 1) : previous.episode + 1
  const firstNs = possibleTime(ctx, activityNs)
  const trace = addTrace(ctx, root, { episode: number, firstNs, full })
  const isKnown = previous !== undefined || root.nextEpisode > 0
  const before = traceIdOf(root.cpid, isKnown ? number - 1 : 0)
  sendSynthetic(ctx, trace, {
    spanId: trace.rootSpan,
    parentId: 0n,
    name: changeName('episode', mergelog),
    cpid: root.cpid,
    startNs: firstNs,
    attributes: {
      [CPID_EPISODE]: BigInt(number),
      [CPID_TIME]: rfc3339(firstNs),
      ...(mergelog?.object !== undefined && { [CPID_OBJECT]: mergelog.object }),
      [CPID_CONTINUES_TRACE_ID]: before.toString('hex'),
    },
    links: [
      { traceId: before, spanId: changeSpanId(before, root.cpid), attributes: { [CPID_ID]: root.cpid } },
    ],
    senderScope: mergelog?.scope,
  })
  trace.rootSent = true
  ctx.counts.episodes++
  if (previous !== undefined) sendContinuedIn(ctx, previous, trace, root)
  return trace
}

/** Activity of a CPID, or a copy of it, that goes into a trace. */
interface Arriving {
  readonly cpid: number
  readonly activityNs: UnixNanos
  readonly bytes: number
  readonly driven: boolean
}

/**
 * Continues a full trace in an episode. Its root stays open, and its age counts from the first trace. A span too large for any
 * trace gets an episode with nothing but its root.
 */
function withRoom(ctx: LinkContext, trace: Trace, { cpid, activityNs, bytes, driven }: Arriving): Trace {
  const isThere = ctx.changes.find(cpid, trace.id) !== undefined
  const load = {
    spans: (bytes > 0 ? 1 : 0) + (isThere ? 0 : 1),
    bytes: bytes + (isThere ? 0 : changeBytes(ctx, cpid)),
  }
  const isEmpty = trace.sentSpans <= (trace.rootSent ? 1 : 0)
  if (load.spans === 0 || isEmpty || hasRoomFor(ctx, trace, load)) return trace
  endFull(ctx, trace)
  // A change does not keep a cascade open, and neither does what another root drives.
  const beginsNs = driven && bytes > 0 ? activityNs : boundedBy(trace, activityNs)
  const episode = openEpisode(ctx, ctx.graph.node(trace.root), beginsNs, trace)
  if (!driven) inheritSilence(ctx, episode, trace)
  return episode
}

function boundedBy({ firstNs, lastNs }: Trace, ns: UnixNanos): UnixNanos {
  if (ns > lastNs) return lastNs
  return ns < firstNs ? firstNs : ns
}

function sendContinuedIn(ctx: LinkContext, from: Trace, to: Trace, root: CpidNode): void {
  const ns = stampIn(ctx, from, to.firstNs)
  sendSynthetic(ctx, from, {
    spanId: derivedSpanId('continued in', from.traceId, numberBytes(to.episode)),
    parentId: from.rootSpan,
    name: 'continued in',
    cpid: root.cpid,
    startNs: ns,
    attributes: {
      [CPID_EPISODE]: BigInt(to.episode),
      [CPID_TIME]: rfc3339(to.firstNs),
      [CPID_CONTINUED_IN_TRACE_ID]: to.traceId.toString('hex'),
    },
    links: [{ traceId: to.traceId, spanId: to.rootSpan, attributes: { [CPID_ID]: root.cpid } }],
    senderScope: ctx.mergelogs.find(root.id)?.scope,
  })
}

function addTrace(
  ctx: LinkContext,
  root: CpidNode,
  { episode, firstNs, full }: { episode: number; firstNs: UnixNanos; full?: Trace | undefined },
): Trace {
  const { settings } = ctx
  const traceId = traceIdOf(root.cpid, episode)
  const begun = {
    traceId,
    root: root.id,
    episode,
    rootSpan: changeSpanId(traceId, root.cpid),
    open: true,
    openedMs: full?.openedMs ?? ctx.clock.activeMs,
    lastArrivalMs: ctx.clock.activeMs,
    lastWallMs: ctx.clock.wallMs,
    dueMs: ctx.clock.activeMs + Math.min(settings.settleAfterMs, settings.maxOpenMs),
    firstNs,
    lastNs: firstNs,
    sentFromNs: firstNs,
    sentToNs: firstNs,
    clockSkew: false,
    doubtfulTimes: lacksPlausibleTime(ctx, firstNs),
    sentSpans: 0,
    sentBytes: 0,
    guestSpans: 0,
    guestBytes: 0,
    controllerSpans: 0,
    failedSpans: 0,
    services: 0,
    merges: 0,
    missing: 0,
    truncated: false,
    rootSent: false,
    provisional: root.hasMergelog ? ctx.mergelogs.find(root.id)?.isWorkedOut === true : !root.explained,
    continuesRoot: full !== undefined && (full.episode === 0 || full.continuesRoot),
  }
  const trace = ctx.traces.add(begun, full)
  ctx.changes.add(root.id, { trace: trace.id, spanId: trace.rootSpan, depth: 0, driven: true })
  return trace
}

/** The first episode of a root without a trace. */
export function firstEpisodeOf(
  { graph, mergelogs }: Pick<LinkContext, 'graph'> & Pick<LinkPorts, 'mergelogs'>,
  root: CpidNode,
): number {
  const mergelog = mergelogs.find(root.id)
  return firstEpisode(root, mergelog && Number(mergelog.timeNs / NANOS_PER_MS), graph.forgotten)
}

/** Keeps an open trace open, since activity arrived. */
export function noteActivity({ clock, traces }: Pick<LinkPorts, 'clock' | 'traces'>, trace: Trace): void {
  if (!trace.open) return
  trace.lastArrivalMs = clock.activeMs
  trace.lastWallMs = clock.wallMs
  traces.touch(trace)
}

/** Copies the silence of a full trace to the episode after it, which was opened for something that is no activity of its root. */
function inheritSilence({ traces }: Pick<LinkPorts, 'traces'>, trace: Trace, full: Trace): void {
  trace.lastArrivalMs = full.lastArrivalMs
  trace.lastWallMs = full.lastWallMs
  trace.dueMs = full.dueMs
  traces.touch(trace)
}

/** Settles open traces whose silence or age has reached its limit; true when more may be due. */
export function settleDue(ctx: LinkContext, limit: number): boolean {
  const { settings } = ctx
  const due = ctx.traces.due(limit)
  for (const [at, trace] of due.entries()) {
    if (at > 0 && !ctx.mayGoOn()) return true
    const dueMs = Math.min(trace.lastArrivalMs + settings.settleAfterMs, trace.openedMs + settings.maxOpenMs)
    if (dueMs <= ctx.clock.activeMs) settle(ctx, trace)
    else {
      trace.dueMs = dueMs
      ctx.traces.touch(trace)
    }
  }
  return due.length === limit
}

/** Ends a trace and its cascade: it takes no more spans. In cascade mode a `cascade` span says so. */
export function settle(ctx: LinkContext, trace: Trace): void {
  if (!trace.open) return
  trace.missing = ctx.traces.countMissing(trace)
  const root = ctx.graph.maybeNode(trace.root)
  if (ctx.settings.mode === 'cascade' && root !== undefined) sendCascadeSpan(ctx, trace, root.cpid)
  end(ctx, trace)
}

/** Ends a full trace. Its cascade continues in another, which counts what is missing when it settles. */
function endFull(ctx: LinkContext, trace: Trace): void {
  trace.missing = 0
  end(ctx, trace)
}

function end({ traces, counts }: LinkContext, trace: Trace): void {
  trace.open = false
  counts.settled++
  traces.touch(trace)
}
