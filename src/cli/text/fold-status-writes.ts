import type { LinkedSpan } from '../../model/ports/query-port.ts'
import type { TreeSpan } from '../../query/cascade/span-tree.ts'
import { count } from './show.ts'

/** As inference calls a write that changed a status alone. */
const STATUS_WRITE = /^update \S+ status$/

/** Writes of a status that no other write stands between, below one that is shown. */
interface Group {
  readonly members: TreeSpan[]
  isShown: boolean
}

/**
 * The tree with writes of a status alone as one line wherever there are several together; what follows from them stands
 * beside it. Also how many there were.
 */
export function foldStatusWrites(tree: readonly TreeSpan[]): { tree: TreeSpan[]; folded: number } {
  const groups = groupsOf(tree)
  const shown: TreeSpan[] = []
  let folded = 0
  /** How deep those above are shown. */
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
        shown.push({ ...placed, depth, span: together(group.members), parentMissing: false })
      group.isShown = true
    }
  }
  return { tree: shown, folded }
}

/** For each write of a status the group that it is of. */
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

/** One span for all of them, from the first start to the last end. */
function together(members: readonly TreeSpan[]): LinkedSpan {
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
