import type { LogSketch, SpanSketch } from '../../support/otlp-requests.ts'

/** What happens to one Causeway, step by step. Times are milliseconds, exporters the places of those there are. */
export type LifeStep =
  | { kind: 'span'; span: SpanSketch }
  | { kind: 'mergelog'; at: number; sources: number[]; object: boolean; time: 'now' | 'none' | 'ahead' }
  | { kind: 'log'; log: LogSketch }
  /** A request that was sent before, or what it holds together with something new. */
  | { kind: 'again'; nth: number; batched: boolean }
  | { kind: 'refused' }
  | { kind: 'link'; most: number }
  | { kind: 'expire'; most: number }
  /** Time goes by; where it works, all that is there is linked before, and what is due leaves and settles after. */
  | { kind: 'pass'; ms: number; works: boolean }
  /** `looks`: after how many looks at the clock each turn ends, if it does not end before. */
  | { kind: 'prune'; budget: number; turns: number; looks?: number }
  /** A turn of pruning that the disk breaks off. */
  | { kind: 'break'; steps: number }
  /** An exporter takes some; what it does not save it takes again after a restart. */
  | { kind: 'export'; exporter: number; most: number; saves: boolean }
  /** With these exporters from then on; one that was not there begins at the end. */
  | { kind: 'restart'; exporters: readonly string[]; mode?: LifeSettings['mode'] }

export interface LifeSettings {
  mode: 'cascade' | 'links' | 'passthrough'
  logs: boolean
  maxFanout: number
  maxTraceSpans: number
  maxCpids: number
  maxAgeMs: number
  /** Above what an empty database takes; 0 for no limit. */
  bytesAbove: number
  exporters: readonly string[]
}

export interface Life {
  settings: LifeSettings
  steps: LifeStep[]
  /** What is left at the end is pruned by another process. */
  endsAnew: boolean
}

export const HOUR_MS = 3_600_000
