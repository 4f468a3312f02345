import type { Cascade } from '../../../src/query/answer-schemas.ts'
import type { SpanRows } from './span-rows.ts'

/** The props of every panel of a cascade. Spans are given by their position in `rows`. */
export interface PanelProps {
  cascade: Cascade
  rows: SpanRows
  search: URLSearchParams
  /** -1 for none. */
  chosen: number
  onChoose: (span: number) => void
}
