import type { UnixNanos } from '../model/clock.ts'
import type { TreeSpan } from '../query/span-tree.ts'
import { duration, plain } from './show.ts'

const STATUS_ERROR = 2
const TIME_WIDTH = 9
const MAX_SERVICE_WIDTH = 30
/** Deeper spans are not indented further, but say how deep they are: 10,000 levels would fill the screen with blanks. */
const MAX_INDENT = 32
const MAX_LINES_AT_ONCE = 200

/** One line a span: start after that of the cascade, duration, service, and the name, indented by depth. */
export function* treeLines(tree: readonly TreeSpan[], startNs: UnixNanos): Generator<string> {
  const widest = tree.reduce(
    (width, { span }) => Math.max(width, plain(span.service).length),
    'service'.length,
  )
  const serviceWidth = Math.min(widest, MAX_SERVICE_WIDTH)
  yield `${'start'.padStart(TIME_WIDTH)}  ${'duration'.padStart(TIME_WIDTH)}  ${'service'.padEnd(serviceWidth)}  span\n`
  for (let at = 0; at < tree.length; at += MAX_LINES_AT_ONCE) {
    yield tree
      .slice(at, at + MAX_LINES_AT_ONCE)
      .map((span) => `${lineOf(span, startNs, serviceWidth)}\n`)
      .join('')
  }
}

function lineOf({ span, depth, parentMissing }: TreeSpan, startNs: UnixNanos, serviceWidth: number): string {
  const start = duration(span.startNs - startNs).padStart(TIME_WIDTH)
  const took = duration(span.endNs - span.startNs).padStart(TIME_WIDTH)
  const indent = '  '.repeat(Math.min(depth, MAX_INDENT)) + (depth > MAX_INDENT ? `(depth ${depth}) ` : '')
  const remarks = [
    ...(span.status === STATUS_ERROR ? ['error'] : []),
    ...(span.copy ? ['copy'] : []),
    ...(parentMissing ? ['its parent is not here'] : []),
  ]
  const remark = remarks.length === 0 ? '' : ` [${remarks.join(', ')}]`
  return `${start}  ${took}  ${plain(span.service).padEnd(serviceWidth)}  ${indent}${plain(span.name)}${remark}`
}
