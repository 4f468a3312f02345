import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { LogFile } from './log-file.ts'
import type { LogPlace } from './log-place.ts'

/** More files than these beside a log are not looked at. */
const MAX_FILES = 256
const COMPRESSED = new Set(['.gz', '.zst', '.xz', '.bz2', '.lz4', '.zip'])

/** A file beside the log whose name says that it was the log once. */
export interface RotatedFile {
  readonly path: string
  readonly inode: string
  readonly mtimeNs: bigint
}

/**
 * The files that the log was called before, those written last at the end. Kubernetes calls them `audit-<time>.log`, logrotate
 * `audit.log.1` and `audit.log-<date>`. Compressed ones are none: what was in them was read before.
 */
export async function rotatedFiles(path: string): Promise<RotatedFile[]> {
  const [directory, name] = [dirname(path), basename(path)]
  const stem = name.slice(0, name.length - extname(name).length)
  const names = await readdir(directory).catch(() => [])
  const found: RotatedFile[] = []
  for (const other of names) {
    if (other === name || COMPRESSED.has(extname(other))) continue
    if (!other.startsWith(`${name}.`) && !other.startsWith(`${name}-`) && !other.startsWith(`${stem}-`))
      continue
    const file = await stat(join(directory, other), { bigint: true }).catch(() => undefined)
    if (file?.isFile() !== true) continue
    found.push({ path: join(directory, other), inode: String(file.ino), mtimeNs: file.mtimeNs })
    if (found.length === MAX_FILES) break
  }
  return found.sort((one, other) => (one.mtimeNs < other.mtimeNs ? -1 : 1))
}

/** The file that was read up to a place, whatever it is called now; undefined when it is gone, or was compressed. */
export async function fileAt(place: LogPlace, path: string): Promise<LogFile | undefined> {
  const rotated = (await rotatedFiles(path)).reverse().map((file) => file.path)
  let copy: LogFile | undefined
  for (const candidate of [path, ...rotated]) {
    const file = await openLog(candidate)
    if (file === undefined) continue
    const isSame = file.inode === place.inode
    // Of an empty file nothing is known by which a copy could be told from any other.
    if ((isSame || (copy === undefined && place.print.bytes > 0)) && (await file.isLike(place))) {
      if (isSame) {
        await copy?.[Symbol.asyncDispose]()
        return file
      }
      copy = file
    } else await file[Symbol.asyncDispose]()
  }
  return copy
}

/** Undefined where there is no such file. Rejects when it may not be read. */
export async function openLog(path: string): Promise<LogFile | undefined> {
  try {
    return await LogFile.open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
