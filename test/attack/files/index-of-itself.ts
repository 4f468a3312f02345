import { appendFileSync, closeSync, openSync, statSync, writeSync } from 'node:fs'
import Database from 'better-sqlite3'

const PAGE_BYTES = 4096
const INTERIOR_TABLE = 5
const LEAF_TABLE = 13
const INTERIOR_INDEX = 2
const LEAF_INDEX = 10
const HEAD_BYTES = { interior: 12, leaf: 8 }
/** Each page leads so many times to the one below it; SQLite goes down no further than twenty. */
const TIMES = 100
const LEVELS = 10

/** A record of two small whole numbers, as SQLite writes it. */
const record = (one: number, other: number): Buffer => Buffer.from([3, 1, 1, one, other])

/** A page of a b-tree: its head, where its cells are, and the cells from its end on. */
function page(kind: number, cells: readonly Buffer[], right?: number): Buffer {
  const bytes = Buffer.alloc(PAGE_BYTES)
  const head = right === undefined ? HEAD_BYTES.leaf : HEAD_BYTES.interior
  let at = PAGE_BYTES
  for (const [index, cell] of cells.entries()) {
    at -= cell.length
    cell.copy(bytes, at)
    bytes.writeUInt16BE(at, head + index * 2)
  }
  bytes[0] = kind
  bytes.writeUInt16BE(cells.length, 3)
  bytes.writeUInt16BE(at, 5)
  if (right !== undefined) bytes.writeUInt32BE(right, 8)
  return bytes
}

const pointer = (to: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(to)
  return bytes
}

/** Gives a table a tree of a few pages that reads as more rows than there are atoms in a human being. */
export function plantEndlessTree(path: string, table: string, kind: 'rowid' | 'key'): void {
  let last = statSync(path).size / PAGE_BYTES
  const add = (bytes: Buffer): number => {
    appendFileSync(path, bytes)
    return ++last
  }
  const leafCell = (at: number): Buffer =>
    kind === 'key' ? Buffer.from([5, ...record(at, at)]) : Buffer.from([5, at, ...record(at, at)])
  const leaves = Array.from({ length: TIMES }, (_, at) => leafCell(at + 1))
  let child = add(page(kind === 'key' ? LEAF_INDEX : LEAF_TABLE, leaves))
  for (let level = 0; level < LEVELS; level++) {
    const below = child
    const cells = Array.from({ length: TIMES }, (_, at) =>
      Buffer.concat([
        pointer(below),
        kind === 'key' ? Buffer.from([5, ...record(at, at)]) : Buffer.from([at + 1]),
      ]),
    )
    child = add(page(kind === 'key' ? INTERIOR_INDEX : INTERIOR_TABLE, cells, below))
  }
  const file = openSync(path, 'r+')
  writeSync(file, pointer(last), 0, 4, 28)
  closeSync(file)
  const db = new Database(path)
  db.unsafeMode()
  db.pragma('writable_schema = ON')
  db.prepare('UPDATE sqlite_schema SET rootpage = ? WHERE name = ?').run(child, table)
  db.close()
}
