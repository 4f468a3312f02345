import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const BLOCK = 512

/** What the files in a folder take of the disk; holes of files count nothing. */
export function diskBytes(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).blocks * BLOCK
  }
  return bytes
}
