import { closeSync, openSync, readSync } from 'node:fs'

const PAGE_BYTES = 4096
const MOST_TEXT = 128

/**
 * The memory of this process that has to be there, in bytes, over all its threads: on Linux without the files mapped into it,
 * such as node itself, which the system drops when memory is short; elsewhere all that is resident.
 */
export function memoryInUse(): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  const file = openSync('/proc/self/statm', 'r')
  try {
    const text = Buffer.alloc(MOST_TEXT)
    const [, resident = 0, shared = 0] = text
      .toString('latin1', 0, readSync(file, text))
      .split(' ')
      .map(Number)
    return (resident - shared) * PAGE_BYTES
  } finally {
    closeSync(file)
  }
}
