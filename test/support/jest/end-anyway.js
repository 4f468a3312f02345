/** Longer than jest takes to write what it found. */
const AFTER_MS = 5_000

/** Ends a jest that ran tests in its own process once it is done, though a file of tests left something running there. */
export default class EndAnyway {
  #afterMs

  constructor(_config, { afterMs = AFTER_MS } = {}) {
    this.#afterMs = afterMs
  }

  onRunComplete() {
    setTimeout(() => process.exit(), this.#afterMs).unref()
  }
}
