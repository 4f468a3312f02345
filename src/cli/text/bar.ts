import type { UnixNanos } from '../../model/clock.ts'

/** The time that a row of bars spans, and how many characters it takes. */
export interface Scale {
  readonly startNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly width: number
}

export interface Bar {
  readonly waitFromNs: UnixNanos | undefined
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
}

/** A bar on the scale: blanks, what was waited, and the span itself, which is never less than one character. */
export function barParts(bar: Bar, scale: Scale): { before: string; wait: string; span: string } {
  const start = Math.min(cellOf(bar.startNs, scale), scale.width - 1)
  const end = Math.max(start + 1, cellUp(bar.endNs, scale))
  const waited = bar.waitFromNs === undefined ? start : Math.min(cellOf(bar.waitFromNs, scale), start)
  const isMoment = bar.endNs <= bar.startNs
  return {
    before: ' '.repeat(waited),
    wait: '░'.repeat(start - waited),
    span: isMoment ? '│' : '█'.repeat(end - start),
  }
}

function cellOf(ns: UnixNanos, { startNs, lastNs, width }: Scale): number {
  if (lastNs <= startNs || ns <= startNs) return 0
  const cell = ((ns - startNs) * BigInt(width)) / (lastNs - startNs)
  return cell > BigInt(width) ? width : Number(cell)
}

/** The first cell that begins at or after a time. */
function cellUp(ns: UnixNanos, scale: Scale): number {
  const { startNs, lastNs, width } = scale
  const down = cellOf(ns, scale)
  const isExact = lastNs > startNs && ((ns - startNs) * BigInt(width)) % (lastNs - startNs) === 0n
  return Math.min(isExact ? down : down + 1, width)
}
