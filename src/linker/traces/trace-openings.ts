import {
  CPID_CONTINUED_IN_TRACE_ID,
  CPID_CONTINUES_TRACE_ID,
  CPID_EPISODE,
  CPID_ID,
  CPID_OBJECT,
  CPID_TIME,
} from '../../model/attributes.ts'
import type { UnixNanos } from '../../model/clock.ts'
import type { CpidNode } from '../../model/ports/graph-port.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import { rfc3339 } from '../../model/rfc3339.ts'
import { changeTime, episodeName } from '../changes/change-attributes.ts'
import { sendRootChange } from '../changes/change-spans.ts'
import { changeSpanId, derivedSpanId, numberBytes, traceIdOf } from '../changes/derived-ids.ts'
import { drives, type Drivers } from '../drives/drivers.ts'
import type { LinkContext } from '../link-context.ts'
import { extendBounds, lacksPlausibleTime, openingTime, possibleTime } from '../causes/plausible-time.ts'
import { endFull, inheritSilence } from './settling.ts'
import { firstEpisodeOf } from './first-episode.ts'
import { sendSynthetic, stampIn } from '../changes/synthetic-span.ts'
import { hasShareFor } from './guests.ts'
import { changeBytes, hasRoomFor } from './trace-room.ts'

/** What goes into traces: of which CPID it is, the roots that this lists, and those of them that drive it. */
export interface RoutingInput {
  readonly cpid: number
  readonly roots: readonly CpidNode[]
  readonly drivers: Drivers
}

/**
 * The traces that something of a CPID goes into now: those of its listed roots that are open, the roots that drive it first,
 * each time the newest. When all that drive it have settled the newest one's episode comes first, whatever episodes the older
 * ones have open (docs/linking.md, rules 5 to 7). Each has room for a span of `bytes`, if that is not 0, and for the change span of the
 * CPID; those whose share of guests is used up are left out for a span of one, and there may be none.
 */
export function tracesFor(
  ctx: LinkContext,
  { cpid, roots, drivers }: RoutingInput,
  activityNs: UnixNanos,
  bytes = 0,
  span?: ArrivedSpan,
): Trace[] {
  const open: Trace[] = []
  let copies: Trace[] | undefined
  let isLeftOut = false
  let newest: CpidNode | undefined
  for (const root of roots) {
    const isDriver = drivers === undefined || drivers.includes(root.id)
    if (isDriver) newest ??= root
    // A root whose mergelog came is about to be heard of, if it was not yet.
    const opens = isDriver || root.hasMergelog
    const trace = ctx.traces.currentOf(root.id) ?? (opens ? openFirst(ctx, root, activityNs) : undefined)
    if (!keepsRootOpen(trace)) continue
    if (span !== undefined && !hasShareFor(ctx, trace, span)) isLeftOut ||= isDriver
    else
      (isDriver ? open : (copies ??= [])).push(
        withRoom(ctx, trace, { cpid, activityNs, bytes, driven: isDriver }),
      )
  }
  if (open.length === 0 && newest !== undefined && !isLeftOut) {
    const episode = ctx.traces.currentOf(newest.id)
    if (episode?.open !== true) open.push(openEpisode(ctx, newest, activityNs))
    else if (span === undefined || hasShareFor(ctx, episode, span))
      open.push(withRoom(ctx, episode, { cpid, activityNs, bytes, driven: true }))
  }
  return copies === undefined ? open : [...open, ...copies]
}

/**
 * The same traces as far as they are open and not left out, for what is sent again: a root that drives it and has had no trace
 * yet gets its first, one that has settled no episode.
 */
export function openTracesOf(
  ctx: LinkContext,
  { cpid, roots, drivers }: RoutingInput,
  activityNs: UnixNanos,
  bytes = 0,
  isLeftOut: (trace: Trace) => boolean = none,
): Trace[] {
  const current = roots.map((root) => {
    const opens = drivers === undefined || drivers.includes(root.id)
    return ctx.traces.currentOf(root.id) ?? (opens ? openFirst(ctx, root, activityNs) : undefined)
  })
  const open = current.filter(keepsRootOpen)
  if (open.length === 0 && current[0]?.open === true) open.push(current[0])
  return open
    .filter((trace) => !isLeftOut(trace))
    .map((trace) => withRoom(ctx, trace, { cpid, activityNs, bytes, driven: drives(drivers, trace) }))
}

const none = (): boolean => false

/** An episode begun after its root had settled is open without its root being so. */
export function keepsRootOpen(trace: Trace | undefined): trace is Trace {
  return trace?.open === true && isOfRoot(trace)
}

function isOfRoot({ episode, continuesRoot }: Trace): boolean {
  return episode === 0 || continuesRoot
}

/** Where spans are not duplicated every CPID is the root of its own trace. */
export function listedRoots({ graph, settings, ancestry }: LinkContext, cpid: number): CpidNode[] {
  const self = graph.node(cpid)
  if (settings.mode !== 'cascade') return [self]
  const roots = ancestry.roots(cpid).flatMap((root) => graph.maybeNode(root) ?? [])
  return roots.length === 0 ? [self] : roots
}

/** The main trace of a root that has none yet; a root whose tombstone is left goes on with episodes. */
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
    name: episodeName(mergelog),
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

/** Something of a CPID that goes into a trace, as activity of it or as a copy. */
interface Arriving {
  readonly cpid: number
  readonly activityNs: UnixNanos
  readonly bytes: number
  readonly driven: boolean
}

/**
 * A full trace goes on in an episode; its root stays open, since when it was opened is kept. What is too large for any trace
 * goes into one that holds nothing but its root.
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
  // A change extends no cascade, nor does what another root drives.
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
    clockSkew: false,
    doubtfulTimes: lacksPlausibleTime(ctx, firstNs),
    sentSpans: 0,
    sentBytes: 0,
    guestSpans: 0,
    guestBytes: 0,
    controllerSpans: 0,
    services: 0,
    merges: 0,
    missing: 0,
    truncated: false,
    rootSent: false,
    provisional: !root.hasMergelog && !root.explained,
    continuesRoot: full !== undefined && isOfRoot(full),
  }
  const trace = ctx.traces.add(begun, full)
  ctx.changes.add(root.id, { trace: trace.id, spanId: trace.rootSpan, depth: 0 })
  return trace
}
