import { context, diag, logs, metrics, propagation, trace } from '@opentelemetry/api'
import { expectNothingMore, running } from './left-running.js'

const APIS = [context, diag, logs, metrics, propagation, trace]

/**
 * The environment of tests is this very process; what a file of tests changes of it is put back. A file that leaves something
 * running in it is red: it would take time from the files after it, and keep a process from ending in which all of them run.
 */
export default class ThisProcess {
  global = globalThis
  #console = console
  #exit = process.exit
  #env = process.env
  #variables = { ...process.env }
  #directory = process.cwd()

  #isGreen = false
  #before
  #longestMs

  constructor({ projectConfig }) {
    this.#longestMs = projectConfig.testEnvironmentOptions.longestMs
  }

  async setup() {
    this.#before = running()
  }

  /** Told by jest. What is red already stays so for its own reason. */
  handleTestEvent({ name, test }) {
    if (name === 'run_start') this.#isGreen = true
    if ((name === 'test_done' && test.errors.length > 0) || name === 'error') this.#isGreen = false
  }

  async teardown() {
    this.#putBack()
    if (this.#isGreen) await expectNothingMore(this.#before, this.#longestMs)
  }

  #putBack() {
    for (const api of APIS) api.disable()
    globalThis.console = this.#console
    process.exit = this.#exit
    process.env = this.#env
    for (const name of Object.keys(process.env)) if (!(name in this.#variables)) delete process.env[name]
    Object.assign(process.env, this.#variables)
    process.chdir(this.#directory)
  }

  /** Mandatory, and asked by nobody but whoever measures coverage. */
  getVmContext() {
    return null
  }
}
