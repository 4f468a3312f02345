import type { SetAside } from '../../model/set-aside.ts'
import type { FromStore, ToStore } from '../../threads/thread-messages.ts'
import type { StoreWriter } from '../store-writer.ts'
import type { StorageGuard } from './storage-guard.ts'

type Moved = Extract<ToStore, { kind: 'moved' }>

/** As many as the table keeps; the oldest go first there too. */
const MAX_SET_ASIDE = 1_000

export interface ExporterNoteParts {
  writer: StoreWriter
  guard: StorageGuard
  post: (message: FromStore) => void
}

/** What exporters report, kept until it is saved: how far each has come, and what could not be sent. */
export class ExporterNotes {
  readonly #parts: ExporterNoteParts
  readonly #moved = new Map<string, Moved>()
  #setAside: SetAside[] = []

  constructor(parts: ExporterNoteParts) {
    this.#parts = parts
  }

  moved(message: Moved): void {
    const key = `${message.signal} ${message.exporter}`
    const refused = (this.#moved.get(key)?.refused ?? 0) + message.refused
    this.#moved.set(key, { ...message, refused })
  }

  setAside(items: readonly SetAside[]): void {
    this.#setAside = [...this.#setAside, ...items].slice(-MAX_SET_ASIDE)
  }

  /** What was set aside first: an exporter that starts again from a position that was saved does not meet it once more. */
  save(): void {
    if (this.#setAside.length > 0 && !this.#saveSetAside()) return
    if (this.#moved.size > 0) this.#savePositions()
  }

  #saveSetAside(): boolean {
    return this.#parts.guard.run('noting what cannot be sent', () => {
      this.#parts.writer.setAside(this.#setAside)
      this.#setAside = []
    })
  }

  #savePositions(): void {
    const { writer, guard, post } = this.#parts
    guard.run('saving exporter positions', () => {
      const items = writer.savePositions(this.#moved.values())
      this.#moved.clear()
      if (items.length > 0) post({ kind: 'setAside', items })
    })
  }
}
