import type { Figure, SectionResult } from '../measure/figures.ts'
import type { LoadName } from './loads.ts'
import type { ProgramName } from './programs.ts'

/** What a run measures. */
export const FIGURES = {
  acknowledged: { label: 'acknowledged', unit: 'spans/s', digits: 0 },
  endToEnd: { label: 'until the backend has them', unit: 'spans/s', digits: 0 },
  arrived: { label: 'of them at the backend when the run ended', unit: '%', digits: 0 },
  p50Ms: { label: 'reply, half within', unit: 'ms', digits: 1 },
  p99Ms: { label: 'reply, 99 % within', unit: 'ms', digits: 1 },
  refused: { label: 'refused for now, and sent again', unit: 'requests', digits: 0 },
  spans: { label: 'spans acknowledged', unit: '', digits: 0 },
  cpuSeconds: { label: 'CPU of the run', unit: 's', digits: 1 },
  cpuPerMillion: { label: 'CPU', unit: 's/million spans', digits: 1 },
  cores: { label: 'cores it used while spans came in', unit: '', digits: 2 },
  peakRssMib: { label: 'memory, highest', unit: 'MiB', digits: 0 },
  diskBytesPerSpan: { label: 'on disk after it stopped', unit: 'bytes/span', digits: 0 },
  helperCores: { label: 'cores generator and sink used', unit: '', digits: 2 },
  othersCores: { label: 'cores other programs used', unit: '', digits: 2 },
} as const satisfies Record<string, Figure>
export type FigureName = keyof typeof FIGURES

/** A figure that a run does not have is not a number, which is null in JSON. */
export type Run = Record<FigureName, number>

export interface LoadResult {
  load: LoadName
  programs: { program: ProgramName; rounds: Run[] }[]
}

export interface PeersData {
  loads: LoadResult[]
  /** What the targets are about. */
  ratios: SectionResult
}
