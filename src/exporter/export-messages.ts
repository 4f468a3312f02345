import type { ComponentConfig, ExporterConfig } from '../config/causeway-config.ts'
import type { ArchivePosition, KeptArchive } from '../model/archive.ts'
import type { SetAside, StorageFault } from '../model/faults.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { Positions } from '../model/outbox.ts'

export interface ExportThreadData {
  path: string
  /** The module that exports the types of component as `COMPONENTS`. */
  components: string
  exporters: Record<Signal, ExporterConfig[]>
  authenticators: ComponentConfig[]
  positions: Positions
  archives: ExporterConfig[]
  keptArchives: Map<string, KeptArchive>
  lastDecisions: Record<Signal, number>
  userAgent: string
}

export type ToExport =
  | { kind: 'linked'; lastDecisions: Record<Signal, number> }
  | { kind: 'collectGarbage' }
  /** Before a restart, only requests in flight are finished. */
  | { kind: 'stop'; graceMs: number; isRestart: boolean }

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
  /** The progress of an archive. */
  | {
      kind: 'archived'
      exporter: string
      position: ArchivePosition
      delivered: number
      refused: number
    }
  /** The archive lacks data that was written to it before. */
  | { kind: 'archiveLost'; exporter: string; reason: string }
  | { kind: 'inFlight'; signal: Signal; exporter: string; requests: number }
  | { kind: 'retrying'; exporter: string; reason: string; delayMs: number }
  | { kind: 'dropped'; exporter: string; reason: string; items: number }
  /** Decisions that were skipped, since their bytes cannot be built. */
  | { kind: 'setAside'; items: SetAside[] }
  | { kind: 'logLine'; line: string }
  /** A warning for the operator; sending goes on. */
  | { kind: 'trouble'; exporter: string; reason: string }
  /** Why the outbox cannot be read, which is retried; undefined once it can be. */
  | { kind: 'storage'; exporter: string; fault: StorageFault | undefined }
  | { kind: 'stopped' }
