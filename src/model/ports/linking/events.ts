import type { ArrivedLog } from '../log-port.ts'
import type { ArrivedSpan } from './spans.ts'

/** What the linker hears of, in ingest order. */
export type LinkEvent =
  | { kind: 'span'; arrival: number; span: ArrivedSpan }
  | { kind: 'mergelog' | 'explained'; arrival: number; cpid: number }
  | { kind: 'log'; arrival: number; log: ArrivedLog }

/** What has arrived and how far the linker has come. */
export interface LinkEvents {
  /** The next events after the linker's position, at most `limit`. */
  next(limit: number): LinkEvent[]
  /** Moves the linker's position. */
  passed(arrival: number): void
  /** Moves the linker's position over everything that has arrived. */
  passedAll(): void
  /** True once the linker has passed this arrival. */
  isLinked(arrival: number): boolean
}
