import { context, diag, logs, metrics, propagation, trace } from '@opentelemetry/api'

const APIS = [context, diag, logs, metrics, propagation, trace]

/** The environment of tests is this very process; what a file of tests changes of it is put back. */
export default class ThisProcess {
  global = globalThis
  #console = console
  #exit = process.exit
  #env = process.env
  #variables = { ...process.env }
  #directory = process.cwd()

  async setup() {}

  async teardown() {
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
