import type { Flow } from './flow.ts'

/** Which flow a connection carries, as long as it has carried no other: a gateway sends for many. */
export class SingleFlowConnections {
  readonly #flows = new WeakMap<object, Flow | 'several'>()

  note(connection: object, flow: Flow): void {
    const known = this.#flows.get(connection)
    if (known === flow || known === 'several') return
    this.#flows.set(connection, known === undefined || known.name === flow.name ? flow : 'several')
  }

  /** The one flow of the connection; undefined when none is known, or several are. */
  of(connection: object): Flow | undefined {
    const known = this.#flows.get(connection)
    return known === 'several' ? undefined : known
  }
}
