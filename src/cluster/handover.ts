/** Hands items over in the order in which they came: what comes while some are being taken is handed over together. */
export class Handover<Item> {
  readonly #take: (items: readonly Item[], version: string | undefined) => Promise<void>
  readonly #maxItems: number
  readonly #maxBytes: number
  #items: Item[] = []
  #bytes = 0
  #version: string | undefined
  #taking: Promise<void> | undefined

  constructor(
    take: (items: readonly Item[], version: string | undefined) => Promise<void>,
    { maxItems, maxBytes }: { maxItems: number; maxBytes: number },
  ) {
    this.#take = take
    this.#maxItems = maxItems
    this.#maxBytes = maxBytes
  }

  /** `bytes` is how long it was; `version`, where it has one, how far the stream is read with it. */
  add(item: Item | undefined, bytes: number, version: string | undefined): void {
    if (item !== undefined) {
      this.#items.push(item)
      this.#bytes += bytes
    }
    this.#version = version ?? this.#version
  }

  /** Resolves once there is room for more. Rejects with what kept items from being taken. */
  async room(): Promise<void> {
    if (this.#items.length === 0 && this.#version === undefined) return
    const taking = (this.#taking ??= this.#takeAll().finally(() => (this.#taking = undefined)))
    if (this.#items.length >= this.#maxItems || this.#bytes >= this.#maxBytes) await taking
    // Whoever waits for room later hears of it.
    else taking.catch(() => undefined)
  }

  /** Resolves once all are taken. */
  async drained(): Promise<void> {
    while (this.#taking !== undefined || this.#items.length > 0 || this.#version !== undefined) {
      this.#taking ??= this.#takeAll().finally(() => (this.#taking = undefined))
      await this.#taking
    }
  }

  async #takeAll(): Promise<void> {
    while (this.#items.length > 0 || this.#version !== undefined) {
      const [items, version] = [this.#items, this.#version]
      this.#items = []
      this.#bytes = 0
      this.#version = undefined
      await this.#take(items, version)
    }
  }
}
