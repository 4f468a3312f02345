import Database from 'better-sqlite3'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'

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

/** Has two pages change places, as a disk does that writes to the wrong one. */
export function swapPages(path: string, one: number, other: number): void {
  const file = openSync(path, 'r+')
  try {
    const [first, second] = [one, other].map((page) => {
      const bytes = Buffer.alloc(PAGE_BYTES)
      readSync(file, bytes, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
      return bytes
    })
    writeSync(file, first ?? Buffer.alloc(0), 0, PAGE_BYTES, (other - 1) * PAGE_BYTES)
    writeSync(file, second ?? Buffer.alloc(0), 0, PAGE_BYTES, (one - 1) * PAGE_BYTES)
  } finally {
    closeSync(file)
  }
}
