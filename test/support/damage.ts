import Database from 'better-sqlite3'
import { closeSync, openSync, writeSync } from 'node:fs'

const PAGE_BYTES = 4096

/** The numbers of a table's or an index's pages of one kind, in their order. */
export function pagesOf(path: string, name: string, kind: 'leaf' | 'internal' | 'overflow'): number[] {
  const db = new Database(path)
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
    return db
      .prepare<[string, string], number>(
        'SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path',
      )
      .pluck()
      .all(name, kind)
  } finally {
    db.close()
  }
}

/** Overwrites pages with bytes that are no page. */
export function damagePages(path: string, pages: readonly number[]): void {
  if (pages.length === 0) throw new Error('no page to damage')
  for (const page of pages) damageBytes(path, (page - 1) * PAGE_BYTES, PAGE_BYTES)
}

export function damageBytes(path: string, from: number, length: number): void {
  const file = openSync(path, 'r+')
  try {
    writeSync(file, Buffer.alloc(length, 0xa5), 0, length, from)
  } finally {
    closeSync(file)
  }
}
