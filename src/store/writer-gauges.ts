import type { StoredGauges } from '../model/ports/writer-port.ts'

/** What the writer has to show at a moment. */
export interface WriterGauges extends StoredGauges {
  /** CPIDs that retention has come to but keeps. */
  held: number
}
