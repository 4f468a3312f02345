import type { Statement } from 'better-sqlite3'
import type { Pages } from '../../../model/ports/query-port.ts'
import { CORE_API_VERSION } from '../../../model/object-reference.ts'
import type { Sqlite } from '../../open-database.ts'

/** How many objects are looked through at once. */
const WINDOW = 20_000
/** How many objects a reference may stand for; the newest ones are taken. */
const MOST = 1_000

interface ObjectRow {
  id: number
  object: string
}

/** Finds objects by their reference, its beginning, or a part of it. */
export class ObjectNumbers {
  readonly #within: Statement<[{ part: string }], number>
  readonly #parts: Statement<[{ before: number; least: number; part: string }], ObjectRow>
  readonly #containing: Statement<[{ before: number; least: number; pattern: string }], ObjectRow>
  readonly #newest: Statement<[number], number | null>

  constructor(db: Sqlite) {
    this.#within = db
      .prepare<[{ part: string }], number>(
        `SELECT id FROM objects WHERE object = @part OR (object > @part || '/' AND object < @part || '0')
         ORDER BY id DESC LIMIT ${MOST}`,
      )
      .pluck()
    this.#parts = db.prepare(
      `SELECT id, object FROM objects WHERE id >= @least AND id < @before
         AND instr('/' || object || '/', '/' || @part || '/') > 0 ORDER BY id DESC`,
    )
    this.#containing = db.prepare(
      `SELECT id, object FROM objects WHERE id >= @least AND id < @before AND object LIKE @pattern ESCAPE '\\'
       ORDER BY id DESC`,
    )
    this.#newest = db.prepare<[number], number | null>('SELECT max(id) FROM objects WHERE id < ?').pluck()
  }

  /** The objects that a reference without query, the beginning of one or a part of one stands for, newest first. */
  *of(reference: string): Pages<number> & Generator<number[]> {
    const part = reference.replace(/^\/+|\/+$/g, '')
    if (part === '') return
    if (beginsWithKind(part)) {
      yield this.#within.all({ part })
      return
    }
    let found = 0
    for (const window of this.#windows()) {
      const ids = this.#parts.all({ ...window, part }).map(({ id }) => id)
      yield ids.slice(0, MOST - found)
      found += ids.length
      if (found >= MOST) return
    }
  }

  /** References that contain the text, in any case of ASCII letters, newest first. */
  *named(text: string): Pages<string> & Generator<string[]> {
    const pattern = `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
    const seen = new Set<string>()
    for (const window of this.#windows()) {
      const fresh = new Set(this.#containing.all({ ...window, pattern }).map(({ object }) => object))
      const objects = [...fresh].filter((object) => !seen.has(object))
      for (const object of objects) seen.add(object)
      yield objects
    }
  }

  *#windows(): Generator<{ least: number; before: number }> {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const newest = this.#newest.get(before) ?? null
      if (newest === null) return
      yield { least: newest - WINDOW, before }
      before = newest - WINDOW
    }
  }
}

/** `v1/pods…` or `apps/v1/deployments…`: an index leads to what begins so. */
function beginsWithKind(reference: string): boolean {
  const parts = reference.split('/')
  return parts.length > 1 && (CORE_API_VERSION.test(parts[0] ?? '') || CORE_API_VERSION.test(parts[1] ?? ''))
}
