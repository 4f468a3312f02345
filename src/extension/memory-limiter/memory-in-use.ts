import { openSync, readSync } from 'node:fs'

const PAGE_BYTES = 4096
const MAX_TEXT = 128

/** Held open for as long as the process lives: it has to be readable when no descriptor is left. */
let statm: number | undefined

/**
 * The memory of this process that has to be there, in bytes, over all its threads: on Linux without the files mapped into it,
 * such as node itself, which the system drops when memory is short; elsewhere all that is resident.
 */
export function memoryInUse(): number {
  if (process.platform !== 'linux') return process.memoryUsage.rss()
  statm ??= openSync('/proc/self/statm', 'r')
  const text = Buffer.alloc(MAX_TEXT)
  const [, resident = 0, shared = 0] = text
    .toString('latin1', 0, readSync(statm, text, 0, MAX_TEXT, 0))
    .split(' ')
    .map(Number)
  return (resident - shared) * PAGE_BYTES
}
