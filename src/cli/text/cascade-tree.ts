import type { LinkedSpan } from '../../model/ports/query-port.ts'
import { waitedFromNs } from '../../query/cascade/span-times.ts'
import type { TreeSpan } from '../../query/cascade/span-tree.ts'
import { writerText } from './actor-text.ts'
import { barParts, type Scale } from './bar.ts'
import { foldStatusWrites } from './fold-status-writes.ts'
import { fitted, padded, type Terminal } from './terminal.ts'
import { count, duration, plain } from './show.ts'

const STATUS_ERROR = 2
const TIME_WIDTH = 7
const GAP = '  '
const LEGEND = '░ waited █ took'
const MIN_BAR = LEGEND.length
const MAX_BAR = 60
/** On less than this there is room for the names and two times only. */
const NARROW = 60
/** Beside less than this there is no room for bars. */
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
  /** Blanks for a level. */
  step: number
  service: number
  waited: number
  bar: number
}

/**
 * The spans of a trace as a tree: name, service, start after that of the cascade, duration, the wait since the write it
 * observed, and a bar. Without `all`, deep levels and long lists are cut, writes of a status folded, and what is cut or folded is counted.
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
  yield heading(widths, shown)
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

function heading({ name, service, waited, bar }: Widths, tree: readonly TreeSpan[]): string {
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
  const name = fitted(plain(span.name), Math.max(width - indent.length - remark.length, 4))
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

/** The end of the write that a span observed, when that was before it began. */
function waitFrom(placed: TreeSpan): bigint | undefined {
  const fromNs = waitedFromNs(placed)
  return fromNs !== undefined && fromNs < placed.span.startNs ? fromNs : undefined
}

function nameOf(placed: TreeSpan): string {
  return plain(placed.span.name) + remarkOf(placed)
}

function remarkOf({ span, parentMissing }: TreeSpan): string {
  const remarks = [
    ...(span.status === STATUS_ERROR ? ['error'] : []),
    ...(span.copy ? ['copy'] : []),
    ...(span.seen?.gap === true ? ['gap'] : []),
    ...(span.beingPlaced === true ? ['being placed'] : []),
    ...(parentMissing ? ['its parent is not here'] : []),
  ]
  const isInferred = span.seen?.cause === 'inferred'
  return `${isInferred ? ' ~' : ''}${remarks.length === 0 ? '' : ` [${remarks.join(', ')}]`}`
}

/** What the marks of spans that are being placed and of writes that were seen from outside mean. */
function* legend(tree: readonly TreeSpan[]): Generator<string> {
  if (tree.some(({ span }) => span.seen?.cause === 'inferred'))
    yield '~ is inferred: it follows from the newest versions that there were\n'
  if (tree.some(({ span }) => span.seen?.gap === true))
    yield 'gap: versions of the object before it were not seen\n'
  if (tree.some(({ span }) => span.beingPlaced === true))
    yield 'being placed: waits for what it follows from; no figure counts it, the critical path leads past it\n'
}
