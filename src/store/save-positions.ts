import type { Signal } from '../model/ingest.ts'
import { reasonOf, type SetAside } from '../model/set-aside.ts'
import type { ExporterPositions } from '../sqlite/sending/exporter-positions.ts'
import { isAboutOneItem } from '../sqlite/storage-fault.ts'
import type { WriterTransaction } from '../sqlite/writer-transaction.ts'

/** How far an exporter has come, and how much its backend refused on the way. */
export interface MovedExporter {
  signal: Signal
  exporter: string
  position: number
  refused: number
}

/** Saves each by itself, inside a transaction; returns those that could not be, which are lost. */
export function savePositions(
  moved: Iterable<MovedExporter>,
  positions: Record<Signal, ExporterPositions>,
  transaction: WriterTransaction,
): SetAside[] {
  const aside: SetAside[] = []
  for (const { signal, exporter, position, refused } of moved) {
    try {
      transaction.attempt(() => positions[signal].moveTo(exporter, position, refused), [])
    } catch (error) {
      if (!isAboutOneItem(error)) throw error
      const kind = `position in ${signal}`
      aside.push({ stage: 'sending', kind, item: 0, cpid: undefined, exporter, reason: reasonOf(error) })
    }
  }
  return aside
}
