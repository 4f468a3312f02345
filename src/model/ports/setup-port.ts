import type { Signal } from '../ingest.ts'

/** What the newest spans and mergelogs of a service say about it. */
export interface SenderFacts {
  readonly service: string
  readonly spans: number
  readonly unattributed: number
  /** CPIDs that its spans carried, and how many of them lack a mergelog although there was time for it. */
  readonly cpids: number
  readonly missing: number
}

/** How far a sender's clock is ahead of this machine's at least, and behind at most, in milliseconds. */
export interface ClockFacts {
  readonly service: string
  readonly aheadMs: number
  readonly behindMs: number
}

export interface RefusalFacts {
  readonly service: string
  readonly reason: string
  readonly count: number
}

/** How far an exporter of one signal has come. */
export interface ExporterFacts {
  readonly name: string
  readonly signal: Signal
  readonly waiting: number
  readonly refused: number
}

/** What was set aside, and the newest reason. */
export interface SetAsideFacts {
  readonly items: number
  readonly time: string
  readonly reason: string
}

/** Reads what tells whether senders are set up well; looks at the newest arrivals only, however many there are. */
export interface SenderFactsReader {
  lastArrivalMs(): number | undefined
  /** By service; a CPID counts as missing its mergelog when it was first seen before a time. */
  senders(seenBeforeMs: number): SenderFacts[]
  /** By service, from its mergelogs and from spans that arrived between two marks. */
  clocks(nowMs: number): ClockFacts[]
  refusals(sinceMs: number): RefusalFacts[]
  /** Refused items, mergelogs included, and the newest of their messages. */
  rejected(sinceMs: number): { items: number; message: string }
  exporters(): ExporterFacts[]
}

/** How the schema of a file compares with the one this Causeway knows. */
export type SchemaState = 'current' | 'older' | 'newer'
