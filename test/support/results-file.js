import { writeFileSync } from 'node:fs'

/** A reporter of jest's that writes what `--json` would, so that the command that ran the tests can stay as it is. */
export default class ResultsFile {
  #path

  constructor(_config, { path }) {
    this.#path = path
  }

  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    writeFileSync(this.#path, JSON.stringify({ numPassedTests, numFailedTests, numRuntimeErrorTestSuites }))
  }
}
