/** The body that is on its way, by connection. A body may have come whole and not be read to its end when the next begins. */
export class AwaitedBodies {
  readonly #giveUps = new WeakMap<object, () => void>()

  /** Calls `giveUp` should the body be waited for no longer. */
  begin(connection: object, giveUp: () => void): void {
    this.#giveUps.set(connection, giveUp)
  }

  end(connection: object, giveUp: () => void): void {
    if (this.#giveUps.get(connection) === giveUp) this.#giveUps.delete(connection)
  }

  /** Whether there was a body to wait for no longer. */
  giveUp(connection: object): boolean {
    const giveUp = this.#giveUps.get(connection)
    giveUp?.()
    return giveUp !== undefined
  }
}
