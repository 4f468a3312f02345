import type { ArchivePosition, ArchiveStore, KeptArchive } from '../../model/archive.ts'
import { OnConnection } from './open-database.ts'

/** The kinds of change in `archive_changes.kind`. */
export const CHANGED = { cpid: 1, trace: 2, changeSpan: 3, spanCpid: 4, replacedMergelog: 5 } as const

interface Row {
  name: string
  arrival: number
  decision: number
  change: number
  refused_mergelog: number
  refused_item: number
  version: number
}

export class ArchivePositions extends OnConnection implements ArchiveStore {
  keep(names: readonly string[]): Map<string, KeptArchive> {
    const known = this.column<[], string>('SELECT name FROM archives').all()
    for (const name of known)
      if (!names.includes(name)) this.db.prepare('DELETE FROM archives WHERE name = ?').run(name)
    const added = names.filter((name) => !known.includes(name))
    for (const name of added) {
      this.db
        .prepare(
          `INSERT INTO archives (name, refused_mergelog)
             SELECT ?, coalesce((SELECT min(id) - 1 FROM rejected_mergelogs), last_refused) FROM progress`,
        )
        .run(name)
    }
    if (added.length > 0) this.db.exec(EVERYTHING)
    if (names.length > 0) this.db.exec('UPDATE progress SET instance = coalesce(instance, randomblob(16))')
    this.#forgetPassed()
    return this.all()
  }

  all(): Map<string, KeptArchive> {
    const rows = this.db.prepare<[], Row>('SELECT * FROM archives').all()
    const instance = this.column<[], Buffer | null>('SELECT instance FROM progress').get()
    return new Map(rows.map((row) => [row.name, keptOf(row, instance?.toString('hex') ?? '')]))
  }

  moveTo(name: string, position: ArchivePosition, refused: number): void {
    const { arrival, decision, change, refusedMergelog, refusedItem, version } = position
    this.db
      .prepare(
        `UPDATE archives SET arrival = ?, decision = ?, change = ?, refused_mergelog = ?, refused_item = ?, version = ?,
           refused = refused + ? WHERE name = ?`,
      )
      .run(arrival, decision, change, refusedMergelog, refusedItem, version, refused, name)
    this.#forgetPassed()
  }

  #forgetPassed(): void {
    const passed = this.column<[], number | null>('SELECT min(change) FROM archives').get()
    if (typeof passed === 'number')
      this.db.prepare('DELETE FROM archive_changes WHERE change <= ?').run(passed)
    else this.db.exec('DELETE FROM archive_changes')
  }
}

/** Queues all existing rows when an archive is added. */
const EVERYTHING = `
  INSERT OR IGNORE INTO archive_changes (kind, item, other) SELECT ${CHANGED.cpid}, id, 0 FROM cpids;
  INSERT OR IGNORE INTO archive_changes (kind, item, other) SELECT ${CHANGED.trace}, id, 0 FROM traces;
  INSERT OR IGNORE INTO archive_changes (kind, item, other) SELECT ${CHANGED.changeSpan}, trace, cpid FROM change_spans;`

function keptOf(row: Row, instance: string): KeptArchive {
  const { arrival, decision, change, version } = row
  return {
    instance,
    position: {
      ...{ arrival, decision, change, version },
      refusedMergelog: row.refused_mergelog,
      refusedItem: row.refused_item,
    },
  }
}
