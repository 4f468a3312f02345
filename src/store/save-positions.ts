import type { Signal } from '../model/ingest.ts'
import type { Stores } from '../model/ports/writer-port.ts'
import { reasonOf, type SetAside } from '../model/set-aside.ts'
import type { StorageFaults } from '../model/storage-fault.ts'

/** How far an exporter has come, and how much its backend refused on the way. */
export interface MovedExporter {
  signal: Signal
  exporter: string
  position: number
  refused: number
}

/** Saves each by itself; sets aside those that could not be, which are lost, and returns them. */
export function savePositions(
  moved: Iterable<MovedExporter>,
  { positions, setAside, attempt }: Stores,
  faults: StorageFaults,
): SetAside[] {
  const aside: SetAside[] = []
  for (const { signal, exporter, position, refused } of moved) {
    try {
      attempt('positions', () => positions[signal].moveTo(exporter, position, refused))
    } catch (error) {
      if (!faults.isAboutOneItem(error)) throw error
      const kind = `position in ${signal}`
      aside.push({ stage: 'sending', kind, item: 0, cpid: undefined, exporter, reason: reasonOf(error) })
    }
  }
  for (const item of aside) setAside.add(item)
  return aside
}
