/** What the writer has to show at a moment. */
export interface WriterGauges {
  cpids: number
  /** CPIDs that retention has come to but keeps. */
  held: number
  tombstones: number
  usedBytes: number
  waiting: number
  openTraces: number
  /** Items that were set aside and are remembered. */
  setAside: number
}
