import type { IngestCounts, RequestAnswer } from '../model/ports/arrival-port.ts'

/** A request that is being recorded. */
export interface Recording {
  /**
   * Goes on, inside the caller's transaction, until all is recorded or `mayGoOn`, asked every hundred items or so, says no;
   * returns the answer once all is. After a transaction that was rolled back the request has to be begun anew.
   */
  goOn(counts: IngestCounts, mayGoOn: () => boolean): RequestAnswer | undefined
}
