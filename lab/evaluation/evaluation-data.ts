import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '../bench/measure/machine.ts'
import type { DurationsData } from './durations/measure.ts'
import type { InferenceData } from './inference/measure.ts'
import type { InformersData } from './informers/measure.ts'
import type { MergesData } from './merges/measure.ts'
import type { OperatorData } from './operator/measure.ts'
import type { Part } from './options.ts'
import type { OverheadData } from './overhead/measure.ts'
import type { ReplacementData } from './replacement/measure.ts'
import type { TraceabilityData } from './traceability-data.ts'

export interface DataOfParts {
  durations: DurationsData
  inference: InferenceData
  informers: InformersData
  merges: MergesData
  operator: OperatorData
  overhead: OverheadData
  replacement: ReplacementData
  traceability: TraceabilityData
}

/** The outcome of one part, with when and where it was measured. */
export interface Measured<T> {
  takenAt: string
  /** How long it took. */
  seconds: number
  machine: Machine
  data: T
}

/** What there is; a part that was never measured is left out. */
export type EvaluationData = { [P in Part]?: Measured<DataOfParts[P]> }

/** Reads what earlier runs left in a folder. */
export function readData(folder: string): EvaluationData {
  return {
    ...readPart(folder, 'durations'),
    ...readPart(folder, 'inference'),
    ...readPart(folder, 'informers'),
    ...readPart(folder, 'merges'),
    ...readPart(folder, 'operator'),
    ...readPart(folder, 'overhead'),
    ...readPart(folder, 'replacement'),
    ...readPart(folder, 'traceability'),
  }
}

export function pathOf(folder: string, part: Part): string {
  return join(folder, 'evaluation', `${part}.json`)
}

function readPart(folder: string, part: Part): EvaluationData {
  const path = pathOf(folder, part)
  return existsSync(path) ? (JSON.parse(`{"${part}":${readFileSync(path, 'utf8')}}`) as EvaluationData) : {}
}
