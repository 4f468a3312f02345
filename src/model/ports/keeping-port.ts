import type { SetAside } from '../set-aside.ts'

/** What was set aside, and how to get past it, inside a transaction. */
export interface SetAsideStore {
  /** Moves linking past the next arrival; undefined when there is none. */
  passArrival(reason: string): SetAside | undefined
  /** Lets the span, change or log record that is due first wait no longer, and leave no more. */
  passWaiting(of: 'waiting' | 'waitingLogs', reason: string): SetAside | undefined
  /** Ends the trace that is due first, without a word to backends. */
  passTrace(reason: string): SetAside | undefined
  /** Notes that a CPID cannot be pruned. */
  addUnprunable(cpid: number, reason: string): SetAside
  add(item: SetAside): void
}

/** What came of a turn. */
export interface HousekeepingResult {
  /** There is more to remove. */
  readonly more: boolean
  /** What nothing names takes room still, so that `max_bytes` is no reason yet to remove anything else. */
  readonly isCrowded: boolean
}

/** Keeps small what belongs to no CPID, inside a transaction. */
export interface Housekeeper {
  /** `isAgeKnown`: the calendar may be believed. */
  turn(isAgeKnown: boolean): HousekeepingResult
}

/** How far each exporter of a signal has come in its outbox, inside a transaction. */
export interface PositionStore {
  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns where each stands. */
  keep(names: readonly string[], end: number): Map<string, number>
  moveTo(name: string, position: number, refused: number): void
}

/** Which arrival was the last one at which time, inside a transaction. */
export interface ArrivalMarks {
  /** The time of the newest mark, Unix milliseconds: what the calendar said then. */
  lastMarkMs(): number | undefined
  /** Notes which arrival is the last one now. */
  mark(): void
}
