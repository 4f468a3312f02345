import type { ComponentConfig, ExporterConfig } from '../config/causeway-config.ts'
import type { ArchivePosition, KeptArchive } from '../model/archive.ts'
import type { SetAside, StorageFault } from '../model/faults.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { Positions } from '../model/outbox.ts'

/** What the export thread is started with. */
export interface ExportThreadData {
  path: string
  /** The module that exports the types of component as `COMPONENTS`. */
  components: string
  /** What each signal is sent by. */
  exporters: Record<Signal, ExporterConfig[]>
  authenticators: ComponentConfig[]
  positions: Positions
  archives: ExporterConfig[]
  keptArchives: Map<string, KeptArchive>
  lastDecisions: Record<Signal, number>
  userAgent: string
}

export type ToExport =
  { kind: 'linked'; lastDecisions: Record<Signal, number> } | { kind: 'stop'; graceMs: number }

export type FromExport =
  | { kind: 'ready' }
  | { kind: 'fatal'; reason: string }
  | {
      kind: 'moved'
      signal: Signal
      exporter: string
      position: number
      delivered: number
      refused: number
    }
  /** How far an archive has come. */
  | {
      kind: 'archived'
      exporter: string
      position: ArchivePosition
      delivered: number
      refused: number
    }
  | { kind: 'inFlight'; signal: Signal; exporter: string; requests: number }
  | { kind: 'retrying'; exporter: string; reason: string; delayMs: number }
  | { kind: 'dropped'; exporter: string; reason: string; items: number }
  /** Decisions that were passed over, since what they send cannot be built. */
  | { kind: 'setAside'; items: SetAside[] }
  | { kind: 'shown'; line: string }
  /** Something an operator should see to; sending goes on. */
  | { kind: 'trouble'; exporter: string; reason: string }
  /** Why the outbox cannot be read, which is tried again; undefined when it can be. */
  | { kind: 'storage'; exporter: string; fault: StorageFault | undefined }
  | { kind: 'stopped' }
