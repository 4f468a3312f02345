import { parseCpid } from '../model/cpid.ts'

const LONGEST_CPID = 64
/** Three times what a CPID with its comma takes, so that much of a list may be unreadable before the rest is given up. */
const READ_PER_ANCESTOR = 111

/**
 * The first CPIDs of a comma-separated list, in canonical text; entries that are none, that are `cpid` itself or that
 * came before are passed over. Reads no further into the text than so many could reach.
 */
export function readAncestors(text: string, cpid: string, maxAncestors: number): string[] {
  const ancestors: string[] = []
  const last = Math.min(text.length, maxAncestors * READ_PER_ANCESTOR)
  for (let start = 0; start < last && ancestors.length < maxAncestors;) {
    const comma = text.indexOf(',', start)
    const end = comma === -1 ? text.length : comma
    if (end - start <= LONGEST_CPID) {
      const ancestor = parseCpid(text.slice(start, end).trim())
      if (ancestor !== undefined && ancestor !== cpid && !ancestors.includes(ancestor))
        ancestors.push(ancestor)
    }
    start = end + 1
  }
  return ancestors
}

/** A single CPID in canonical text; undefined when the text is none. */
export function readCpid(text: string): string | undefined {
  return text.length <= LONGEST_CPID ? parseCpid(text.trim()) : undefined
}

/** The list as it travels in annotations and headers. */
export function writeAncestors(ancestors: readonly string[]): string {
  return ancestors.join(',')
}
