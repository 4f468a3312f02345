/** Takes back what was to be done later. */
export type Cancel = () => void

/** The only source of "later"; tests turn it by hand. */
export interface Timers {
  /** Once, when what has come in meanwhile has been heard. */
  soon(work: () => void): Cancel
  /** Once, after so many milliseconds. */
  after(ms: number, work: () => void): Cancel
  /** Again and again. */
  every(ms: number, work: () => void): Cancel
}
