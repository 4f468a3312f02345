import type { Finding, TraceabilityRow } from './traceability/traceability-row.ts'
import { CHANGES } from './traceability/changes.ts'
import { DELETIONS } from './traceability/deletions.ts'
import { MALICIOUS } from './traceability/malicious.ts'
import { UNINSTRUMENTED } from './traceability/uninstrumented.ts'

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

/** What can be traced and what cannot: sections 5.2, 6.3 and 6.4.2 of the CPID paper, each row found by playing it. */
export const TRACEABILITY: readonly TraceabilityRow[] = [
  ...CHANGES,
  ...DELETIONS,
  ...UNINSTRUMENTED,
  ...MALICIOUS,
]
