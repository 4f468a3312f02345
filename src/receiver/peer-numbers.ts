const MAX_CREDENTIALS = 1_024

/** Numbers those who send: by credential where they have one, else by connection. */
export class PeerNumbers {
  readonly #connections = new WeakMap<object, number>()
  readonly #credentials = new Map<string, number>()
  #last = 0

  of(connection: object, credential: string | undefined): number {
    const known =
      credential === undefined ? this.#connections.get(connection) : this.#credentials.get(credential)
    if (known !== undefined) return known
    const number = ++this.#last
    if (credential === undefined) this.#connections.set(connection, number)
    else {
      // Whoever is numbered anew counts as someone else for a second.
      if (this.#credentials.size >= MAX_CREDENTIALS) this.#credentials.clear()
      this.#credentials.set(credential, number)
    }
    return number
  }
}
