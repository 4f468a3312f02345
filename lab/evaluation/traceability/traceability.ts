import { CHANGES } from './changes.ts'
import { DELETIONS } from './deletions.ts'
import { MALICIOUS } from './malicious.ts'
import type { TraceabilityRow } from './traceability-row.ts'
import { UNINSTRUMENTED } from './uninstrumented.ts'

/** What can be traced and what cannot: sections 5.2, 6.3 and 6.4.2 of the CPID paper, each row found by playing it. */
export const TRACEABILITY: readonly TraceabilityRow[] = [
  ...CHANGES,
  ...DELETIONS,
  ...UNINSTRUMENTED,
  ...MALICIOUS,
]
