const MAX_CREDENTIALS = 1_024

/** Tells apart those who send: by credential where they have one, else by connection and the address that it comes from. */
export class PeerNumbers {
  readonly #addresses = new WeakMap<object, string>()
  readonly #connections = new WeakMap<object, number>()
  readonly #credentials = new Map<string, number>()
  #last = 0

  /** A connection comes from this address. */
  comesFrom(connection: object, address: string): void {
    this.#addresses.set(connection, address)
  }

  /** Who shares turns with others: a credential, wherever it is used, or else an address with all its connections. */
  clientOf(connection: object, credential: string | undefined): string {
    return credential === undefined ? (this.#addresses.get(connection) ?? '') : `as ${credential}`
  }

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
