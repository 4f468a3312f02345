import { TRACEABILITY } from './traceability/traceability.ts'
import type { Finding, TraceabilityRow } from './traceability/traceability-row.ts'

export type TraceabilityData = (Omit<TraceabilityRow, 'find'> & { finding: Finding })[]

/** Plays every row of the table. */
export async function measureTraceability(onRow: () => void): Promise<TraceabilityData> {
  const rows: TraceabilityData = []
  for (const { find, ...row } of TRACEABILITY) {
    rows.push({ ...row, finding: await find() })
    onRow()
  }
  return rows
}
