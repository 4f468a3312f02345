import type { Cpid } from '../model/merge-graph.ts'
import type { CascadeFacts, CascadesOfCpid, CausewayQueries, LinkedSpan } from '../model/queries.ts'
import { rfc3339 } from '../model/time-and-size.ts'
import {
  analyseCascadeAtOnce,
  joinDividedTraces,
  type PathStep,
  positionOfMost,
} from '../query/cascade-analysis.ts'
import { noted } from '../query/archive/held-questions.ts'
import { cascadeJson, type CascadeRead } from '../query/cascade-json.ts'
import { CascadeFold, spanTree, type TreeSpan, waitedFromNs } from '../query/span-tree.ts'
import type { ServiceTime } from '../query/time-totals.ts'
import { notePartial, takingPart, wholeCpidOf, withArchive } from './ask-archive.ts'
import { inNoCascade, requireFound, withQueries } from './ask-database.ts'
import { type CliIo, type CommandLine, cpidOf, type Run, wantsJson } from './command-line.ts'
import {
  actorText,
  barParts,
  count,
  duration,
  fitted,
  padded,
  printable,
  type Scale,
  type Terminal,
  terminalOf,
  textTable,
  writerText,
} from './text.ts'

export const runCascade: Run = (line, io) => {
  const json = wantsJson(line)
  if (line.archive !== undefined) return archivedCascade(line, io)
  const named = cpidOf(line.args[0] ?? '')
  return withQueries(line, io, (queries) => {
    const cpid = named(queries)
    const found = cascadesOf(queries, cpid)
    for (const text of json
      ? asJson(queries, cpid, found.cascades)
      : asText(queries, cpid, found, terminalOf(io), line.all === true))
      io.stdout.write(text)
    return 0
  })
}

async function archivedCascade(line: CommandLine, io: CliIo): Promise<number> {
  const cpid = wholeCpidOf(line)
  return await withArchive(line, io, async (questions) => {
    const own = await questions.held.cascade(cpid)
    const found: CascadesOfCpid =
      typeof own === 'string' ? await takingPart(questions, cpid) : { cascades: [cpid], drivenBy: [cpid] }
    const texts: string[] = []
    const partials = new Set<string>()
    for (const root of found.cascades) {
      const cascade = root === cpid ? own : await questions.held.cascade(root)
      if (typeof cascade === 'string') continue
      const { queries, facts, partial } = cascade
      if (wantsJson(line)) texts.push(noted(cascadeJson(queries, facts), partial))
      else texts.push([...cascadeText(queries, facts, terminalOf(io), line.all === true)].join(''))
      if (partial !== undefined) partials.add(partial)
    }
    if (wantsJson(line)) io.stdout.write(`{"cpid":"${cpid}","cascades":[${texts.join(',')}]}\n`)
    else {
      if (found.cascades.length > 1) io.stdout.write(severalText(cpid, found))
      io.stdout.write(texts.join('\n'))
      for (const partial of partials) notePartial(io, partial)
    }
    return 0
  })
}

/** The cascades of a CPID; a pruned root may still have some. */
function cascadesOf(queries: CausewayQueries, cpid: Cpid): CascadesOfCpid {
  const own = queries.cascade(cpid)
  if (typeof own !== 'string') return { cascades: [cpid], drivenBy: [cpid] }
  const found = requireFound(cpid, queries.cascadesOf(cpid))
  if (found.cascades.length > 0) return found
  throw inNoCascade(cpid)
}

function* asText(
  queries: CausewayQueries,
  cpid: Cpid,
  { cascades, drivenBy }: CascadesOfCpid,
  screen: Terminal,
  all: boolean,
): Generator<string> {
  if (cascades.length > 1) yield severalText(cpid, { cascades, drivenBy })
  let separator = ''
  for (const root of cascades) {
    const facts = queries.cascade(root)
    if (typeof facts === 'string') continue
    yield separator
    yield* cascadeText(queries, facts, screen, all)
    separator = '\n'
  }
}

function severalText(cpid: Cpid, { cascades, drivenBy }: CascadesOfCpid): string {
  return `CPID ${cpid} is in ${count(cascades.length, 'cascade')}${driversFirst(cascades, drivenBy)}.\n\n`
}

function driversFirst({ length }: readonly Cpid[], { length: driving }: readonly Cpid[]): string {
  if (driving === 0 || driving === length) return ', newest first'
  const others = length - driving
  const first = driving === 1 ? 'the first one drives it' : `the first ${driving} drive it`
  return `: ${first}, and it only descends from ${others === 1 ? 'the other one' : `the other ${others}`}`
}

/** Writes `{"cpid":"...","cascades":[...]}`. */
function* asJson(queries: CausewayQueries, cpid: Cpid, roots: readonly Cpid[]): Generator<string> {
  yield `{"cpid":"${cpid}","cascades":[`
  let separator = ''
  for (const root of roots) {
    const facts = queries.cascade(root)
    if (typeof facts === 'string') continue
    yield separator
    yield* cascadeJson(queries, facts)
    separator = ','
  }
  yield ']}\n'
}

const MISSING_NAMED = 20

/** A cascade for people: its totals, its traces as trees, its critical path, and the time of each service. */
function* cascadeText(
  queries: CascadeRead,
  facts: CascadeFacts,
  screen: Terminal,
  all: boolean,
): Generator<string> {
  yield* linesOf([...heading(facts), ...missing(queries, facts)])
  for (const traces of joinDividedTraces(queries.tracesOf(facts.root))) {
    yield '\n'
    const fold = new CascadeFold(traces)
    for (const [at, trace] of traces.entries()) {
      const which = trace.episode === 0 ? 'main trace' : `episode ${trace.episode}, trace`
      const goesOn = at === 0 ? '' : 'continues, because a trace was full, in '
      yield `${goesOn}${which} ${trace.traceId.toString('hex')} (${stateWord(trace.open)})\n`
      fold.add(trace, queries.linkedSpans(trace.id))
    }
    yield* cascadeTree(spanTree(fold.spans()), facts, screen, all)
  }
  const { services, path } = analyseCascadeAtOnce(queries, facts)
  if (services.length === 0) return
  if (path.length > 0) yield* linesOf(['', ...criticalPathText(path, facts, all)])
  yield '\n'
  yield* linesOf(timeTable(services, facts))
}

function heading(facts: CascadeFacts): string[] {
  const {
    root,
    open,
    startNs,
    lastNs,
    spans,
    failed,
    services,
    merges,
    truncated,
    clockSkew,
    gaps,
    missedVersions,
  } = facts
  return [
    `cascade of ${root} (${stateWord(open)})`,
    `  object         ${printable(facts.object)}`,
    `  begun by       ${actorText(facts.actor, facts.service)}`,
    `  start          ${rfc3339(startNs)}`,
    `  last activity  ${rfc3339(lastNs)}, ${duration(lastNs - startNs)} after the start`,
    `  made of        ${count(spans, 'span')} of ${count(services, 'service')}, ${count(merges, 'merge')}`,
    ...(failed > 0 ? [`  failed         ${count(failed, 'span')}`] : []),
    ...(open ? ['  open: more activity may arrive; it settles when none has arrived for settle_after'] : []),
    ...(truncated
      ? [
          '  truncated: something in it descends from more than max_fanout open roots, and is only in the traces of the newest',
        ]
      : []),
    ...(gaps > 0
      ? [
          `  gaps: versions before ${count(gaps, 'write')} were not seen, so what happened in between may be missing${missedVersions > 0 ? `: likely ${missedVersions} or more` : ''}`,
        ]
      : []),
    ...(clockSkew
      ? [
          '  clock skew: some times are implausible, and start and end leave them out; synchronise the clocks of all nodes',
        ]
      : []),
  ]
}

function missing(queries: CascadeRead, { root, missing: number }: CascadeFacts): string[] {
  if (number === 0) return []
  const named = queries.missingIn(root, MISSING_NAMED)
  return [
    `  missing: the mergelogs of ${count(number, 'CPID')}, so spans may be in the wrong place`,
    ...named.map((cpid) => `    ${cpid}`),
    ...(number > named.length && named.length > 0 ? [`    and ${number - named.length} more`] : []),
  ]
}

function timeTable(totals: readonly ServiceTime[], { startNs }: CascadeFacts): string[] {
  const rows = totals.map(({ service, totalNs, spans, firstNs, lastNs }) => [
    printable(service),
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

const STATUS_ERROR = 2
const TIME_WIDTH = 7
const GAP = '  '
const LEGEND = '░ waited █ took'
const MIN_BAR = LEGEND.length
const MAX_BAR = 60
/** In a narrower terminal, only names and two times fit. */
const NARROW = 60
/** Bars are shown only if names have at least this width. */
const MIN_NAME = 24
const SERVICE_SHARE = 0.21
const SHOWN_ROWS = 200
const SHOWN_DEPTH = 24

interface Row {
  name: string
  span: LinkedSpan
  waitFromNs: bigint | undefined
}

interface Widths {
  name: number
  /** The indentation per level, in characters. */
  step: number
  service: number
  waited: number
  bar: number
}

/**
 * The spans of a trace as a tree: name, service, start within the cascade, duration, the wait since the write that it observed, and a bar.
 * Without `all`, deep levels and long lists are cut and status writes are folded, with counts of both.
 */
export function* cascadeTree(
  whole: readonly TreeSpan[],
  scale: Omit<Scale, 'width'>,
  screen: Terminal,
  all: boolean,
): Generator<string> {
  const { tree, folded } = all ? { tree: whole, folded: 0 } : foldStatusWrites(whole)
  const shallow = all ? tree : tree.filter(({ depth }) => depth <= SHOWN_DEPTH)
  const shown = all ? shallow : shallow.slice(0, SHOWN_ROWS)
  const widths = widthsFor(shown, screen)
  const rows = shown.map((placed) => rowOf(placed, widths))
  yield traceHeading(widths, shown)
  for (const row of rows) yield lineOf(row, widths, scale, screen)
  const more = shallow.length - shown.length
  const deeper = tree.length - shallow.length
  if (more > 0) yield `… ${count(more, 'more span')}; --all shows them\n`
  if (deeper > 0) yield `… ${count(deeper, 'span')} deeper than ${SHOWN_DEPTH} levels; --all shows them\n`
  if (folded > 0) yield `… ${count(folded, 'status update')} in lines of several; --all shows each\n`
  yield* legend(shown)
}

function widthsFor(tree: readonly TreeSpan[], { width }: Terminal): Widths {
  const widest = (text: (placed: TreeSpan) => string, least: string): number =>
    tree.reduce((most, placed) => Math.max(most, Array.from(text(placed)).length), least.length)
  const isNarrow = width < NARROW
  const service = isNarrow
    ? 0
    : Math.min(
        widest(({ span }) => writerText(span), 'service'),
        Math.floor(width * SERVICE_SHARE),
      )
  const waited = !isNarrow && tree.some((placed) => waitFrom(placed) !== undefined) ? TIME_WIDTH : 0
  const times = [TIME_WIDTH, TIME_WIDTH, waited]
  const left =
    width - [service, ...times].reduce((sum, column) => sum + (column === 0 ? 0 : GAP.length + column), 0)
  const deepest = tree.reduce((most, { depth }) => Math.max(most, depth), 0)
  const most = left - GAP.length - MIN_BAR
  const hasBars = most >= MIN_NAME
  const room = hasBars ? most : left
  const step = 2 * deepest <= room / 2 ? 2 : 1
  const natural = widest((placed) => ' '.repeat(step * placed.depth) + nameOf(placed), 'span')
  const name = Math.min(natural, room)
  return { name, step, service, waited, bar: hasBars ? Math.min(left - GAP.length - name, MAX_BAR) : 0 }
}

function traceHeading({ name, service, waited, bar }: Widths, tree: readonly TreeSpan[]): string {
  const by = tree.some(({ span }) => span.seen !== undefined) ? 'by' : 'service'
  return `${[
    padded('span', name),
    ...(service === 0 ? [] : [padded(by, service)]),
    'start'.padStart(TIME_WIDTH),
    'took'.padStart(TIME_WIDTH),
    ...(waited === 0 ? [] : ['waited'.padStart(waited)]),
    ...(bar === 0 ? [] : [waited === 0 ? '' : LEGEND]),
  ]
    .join(GAP)
    .trimEnd()}\n`
}

function rowOf(placed: TreeSpan, { name: width, step }: Widths): Row {
  const { depth, span } = placed
  const most = Math.floor(width / 2)
  const indent =
    step * depth <= most ? ' '.repeat(step * depth) : `${' '.repeat(Math.max(most - 5, 0))}${depth}› `
  const remark = remarkOf(placed)
  const name = fitted(printable(span.name), Math.max(width - indent.length - remark.length, 4))
  return { name: fitted(indent + name + remark, width), span, waitFromNs: waitFrom(placed) }
}

function lineOf(row: Row, widths: Widths, scale: Omit<Scale, 'width'>, { paint }: Terminal): string {
  const { span, waitFromNs } = row
  const isError = span.status === STATUS_ERROR
  const waited = waitFromNs === undefined ? '' : duration(span.startNs - waitFromNs)
  const name = padded(row.name, widths.name)
  const cells = [
    isError ? paint('red', name) : span.row === undefined ? paint('dim', name) : name,
    ...(widths.service === 0
      ? []
      : [paint('dim', padded(fitted(writerText(span), widths.service), widths.service))]),
    duration(span.startNs - scale.startNs).padStart(TIME_WIDTH),
    duration(span.endNs - span.startNs).padStart(TIME_WIDTH),
    ...(widths.waited === 0 ? [] : [waited.padStart(widths.waited)]),
  ]
  if (widths.bar > 0) {
    const { before, wait, span: bar } = barParts({ ...span, waitFromNs }, { ...scale, width: widths.bar })
    cells.push(before + paint('yellow', wait) + paint(isError ? 'red' : 'cyan', bar))
  }
  return `${cells.join(GAP).trimEnd()}\n`
}

/** When the write that a span observed ended, if that was before the span started. */
function waitFrom(placed: TreeSpan): bigint | undefined {
  const fromNs = waitedFromNs(placed)
  return fromNs !== undefined && fromNs < placed.span.startNs ? fromNs : undefined
}

function nameOf(placed: TreeSpan): string {
  return printable(placed.span.name) + remarkOf(placed)
}

function remarkOf({ span, parentMissing }: TreeSpan): string {
  const remarks = [
    ...(span.status === STATUS_ERROR ? ['error'] : []),
    ...(span.copy ? ['copy'] : []),
    ...(span.seen?.gap === true ? ['gap'] : []),
    ...(span.beingPlaced === true ? ['being placed'] : []),
    ...(parentMissing ? ['its parent is missing'] : []),
  ]
  const isInferred = span.seen?.cause === 'inferred'
  return `${isInferred ? ' ~' : ''}${remarks.length === 0 ? '' : ` [${remarks.join(', ')}]`}`
}

/** The legend of the marks for inferred writes, gaps, and spans that are still being placed. */
function* legend(tree: readonly TreeSpan[]): Generator<string> {
  if (tree.some(({ span }) => span.seen?.cause === 'inferred'))
    yield '~ is inferred: it follows from the newest versions that its writer could have read\n'
  if (tree.some(({ span }) => span.seen?.gap === true))
    yield 'gap: versions of the object before it were not seen\n'
  if (tree.some(({ span }) => span.beingPlaced === true))
    yield 'being placed: it waits for what it follows from; no figure counts it, and the critical path does not lead through it\n'
}

/** The span name that inference gives to a write of the status alone. */
const STATUS_WRITE = /^update \S+ status$/

/** Consecutive status writes under one span. */
interface Group {
  readonly members: TreeSpan[]
  isShown: boolean
}

/** Folds consecutive status writes into one line, under which their children are shown. Also returns the number of folded writes. */
export function foldStatusWrites(tree: readonly TreeSpan[]): { tree: TreeSpan[]; folded: number } {
  const groups = groupsOf(tree)
  const shown: TreeSpan[] = []
  let folded = 0
  /** The shown depths of the ancestors. */
  const above: number[] = []
  for (const [at, placed] of tree.entries()) {
    const over = above[placed.depth - 1] ?? -1
    const depth = over + 1
    const group = groups[at]
    const isFolded = group !== undefined && group.members.length > 1
    above[placed.depth] = isFolded ? over : depth
    if (!isFolded) shown.push({ ...placed, depth })
    else {
      folded++
      if (!group.isShown)
        shown.push({ ...placed, depth, span: foldedSpan(group.members), parentMissing: false })
      group.isShown = true
    }
  }
  return { tree: shown, folded }
}

function groupsOf(tree: readonly TreeSpan[]): (Group | undefined)[] {
  const top = newGroup()
  const above: Group[] = []
  return tree.map((placed) => {
    const group = above[placed.depth - 1] ?? top
    const { seen, name, beingPlaced } = placed.span
    const isStatus = seen !== undefined && beingPlaced !== true && STATUS_WRITE.test(name)
    above[placed.depth] = isStatus ? group : newGroup()
    if (!isStatus) return undefined
    group.members.push(placed)
    return group
  })
}

function newGroup(): Group {
  return { members: [], isShown: false }
}

/** One span that stands for all, from the first start to the last end. */
function foldedSpan(members: readonly TreeSpan[]): LinkedSpan {
  const spans = members.map(({ span }) => span)
  const [first] = spans as [LinkedSpan]
  const services = new Set(spans.map(({ service }) => service))
  return {
    ...first,
    name: `… ${count(spans.length, 'status update')}`,
    service: services.size === 1 ? first.service : count(services.size, 'service'),
    startNs: spans.reduce((least, { startNs }) => (startNs < least ? startNs : least), first.startNs),
    endNs: spans.reduce((most, { endNs }) => (endNs > most ? endNs : most), first.endNs),
    status: Math.max(...spans.map(({ status }) => status)),
    copy: spans.every(({ copy }) => copy),
    byCause: false,
    seen: undefined,
  }
}

const SHOWN_STEPS = 40

/**
 * The critical path for people: the longest step and the longest wait in words, and each step with its wait and held time. Without `all`,
 * only the last steps are shown, and the others counted.
 */
function criticalPathText(path: readonly PathStep[], { startNs }: CascadeFacts, all: boolean): string[] {
  const whole = path.reduce((sum, { waitNs, heldNs }) => sum + waitNs + heldNs, 0n)
  const longest = path[positionOfMost(path, ({ heldNs }) => heldNs) ?? -1]
  const waited = path[positionOfMost(path, ({ waitNs }) => waitNs) ?? -1]
  const shown = all ? path : path.slice(-SHOWN_STEPS)
  const hidden = path.length - shown.length
  const rows = shown.map((step) => [
    printable(step.span.name),
    printable(step.span.service),
    duration(step.span.startNs - startNs),
    step.waitNs === 0n ? '' : duration(step.waitNs),
    `${step === longest ? 'longest ' : ''}${duration(step.heldNs)}`,
  ])
  return [
    `critical path, ${duration(whole)}`,
    ...(longest === undefined ? [] : [`  longest step  ${stepText(longest)}, ${heldText(longest)}`]),
    ...(waited === undefined
      ? []
      : [`  longest wait  ${duration(waited.waitNs)} before ${stepText(waited)}`]),
    ...(hidden > 0 ? [`  … ${count(hidden, 'step')} before these; --all shows them`] : []),
    ...textTable(['step', 'service', ' start', ' waited', ' held up'], rows),
  ]
}

function stepText({ span }: Pick<PathStep, 'span'>): string {
  return `${printable(span.name)} of ${printable(span.service)}`
}

function heldText({ heldNs, mostly }: PathStep): string {
  return `${duration(heldNs)}${mostly === undefined ? '' : `, mostly ${stepText(mostly)}, ${duration(mostly.heldNs)}`}`
}
