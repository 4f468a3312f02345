import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { CPID_SOURCES, MERGELOG_EVENT } from '../../../src/model/attributes.ts'

export interface MergelogCounts {
  /** Mergelogs with sources: changes that met. */
  merges: number
  /** Mergelogs without: changes that began. */
  roots: number
}

export function countMergelogs({ records }: Pick<Recorder, 'records'>): MergelogCounts {
  const counts = { merges: 0, roots: 0 }
  for (const { eventName, attributes } of records) {
    if (eventName !== MERGELOG_EVENT) continue
    const sources = attributes[CPID_SOURCES]
    if (Array.isArray(sources) && sources.length > 0) counts.merges++
    else counts.roots++
  }
  return counts
}
