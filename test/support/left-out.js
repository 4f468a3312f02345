/** A reporter of jest's that says, below its summary, which tests were not run. */
export default class LeftOut {
  #files

  constructor(_config, { files }) {
    this.#files = files
  }

  onRunComplete() {
    console.log(`${this.#files} files of long tests were not run; npm run test:long runs them`)
  }
}
