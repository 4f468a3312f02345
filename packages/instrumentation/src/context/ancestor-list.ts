import { readCpidAt } from './read-cpid.ts'

/** Characters read per ancestor: three times the length of a CPID with its comma, so that invalid entries may be skipped. */
const READ_PER_ANCESTOR = 111

/**
 * The first CPIDs of a comma-separated list, in canonical text. Skips invalid entries, `cpid` itself and repetitions. Reads only
 * a bounded part of the text.
 */
export function readAncestors(text: string, cpid: string, maxAncestors: number): string[] {
  const ancestors: string[] = []
  const last = Math.min(text.length, maxAncestors * READ_PER_ANCESTOR)
  for (let start = 0; start < last && ancestors.length < maxAncestors;) {
    const comma = text.indexOf(',', start)
    const end = comma === -1 ? text.length : comma
    const ancestor = readCpidAt(text, start, end)
    if (ancestor !== undefined && ancestor !== cpid && !isAmong(ancestors, ancestor)) ancestors.push(ancestor)
    start = end + 1
  }
  return ancestors
}

/** The text of the list in annotations and headers. */
export function writeAncestors(ancestors: readonly string[]): string {
  return ancestors.join(',')
}

/** Compares the last digit first, which avoids nearly all comparisons of whole CPIDs. */
function isAmong(cpids: readonly string[], wanted: string): boolean {
  const last = wanted.charCodeAt(wanted.length - 1)
  for (const cpid of cpids) if (cpid.charCodeAt(cpid.length - 1) === last && cpid === wanted) return true
  return false
}
