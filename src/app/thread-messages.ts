import type { AuthenticatorConfig, ExporterConfig } from '../config/causeway-config.ts'
import type { PruneResult } from '../graph/prune.ts'
import type { LinkSettings } from '../linker/link-context.ts'
import type { IngestCounts } from '../model/arrival-port.ts'
import type { IngestOutcome, Signal } from '../model/ingest.ts'
import type { LinkCounts } from '../model/link-counts.ts'
import type { Sender } from '../model/sender.ts'
import type { SenderPolicy } from '../model/sender-policy.ts'
import type { Retention } from '../model/prune-port.ts'

/** What the store thread is started with. */
export interface StoreThreadData {
  path: string
  linking: LinkSettings
  maxSources: number
  senders?: SenderPolicy
  retention: Retention & { intervalMs: number }
  exporters: string[]
}

export interface StoreGauges {
  lag: number
  waiting: number
  openTraces: number
  cpids: number
  tombstones: number
  usedBytes: number
}

export type ToStore =
  | { kind: 'ingest'; id: number; signal: Signal; bytes: Uint8Array; sender?: Sender }
  | { kind: 'moved'; exporter: string; position: number; refused: number }
  /** Link what there is, within the grace period, and say so. */
  | { kind: 'catchUp'; graceMs: number }
  | { kind: 'stop' }

export type FromStore =
  | { kind: 'ready'; positions: Map<string, number>; lastDecision: number }
  | { kind: 'fatal'; reason: string }
  | {
      kind: 'ingested'
      outcomes: { id: number; outcome: IngestOutcome }[]
      counts: IngestCounts
      commitMs: number
    }
  | { kind: 'linked'; counts: LinkCounts; lastDecision: number }
  | { kind: 'pruned'; result: PruneResult }
  | { kind: 'gauges'; gauges: StoreGauges }
  | { kind: 'caughtUp'; lastDecision: number }
  | { kind: 'trouble'; reason: string }
  | { kind: 'stopped' }

/** What the export thread is started with. */
export interface ExportThreadData {
  path: string
  exporters: ExporterConfig[]
  authenticators: AuthenticatorConfig[]
  positions: Map<string, number>
  lastDecision: number
  userAgent: string
}

export type ToExport = { kind: 'linked'; lastDecision: number } | { kind: 'stop'; graceMs: number }

export type FromExport =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  | { kind: 'moved'; exporter: string; position: number; delivered: number; refused: number }
  | { kind: 'inFlight'; exporter: string; requests: number }
  | { kind: 'retrying'; exporter: string; reason: string; delayMs: number }
  | { kind: 'dropped'; exporter: string; reason: string; items: number }
  | { kind: 'shown'; line: string }
  /** Something an operator should see to; sending goes on. */
  | { kind: 'trouble'; exporter: string; reason: string }
  | { kind: 'stopped' }
