import { CPID_ID } from '../attributes.ts'
import { readCpid } from '../context/read-cpid.ts'
import { ownValue } from '../own-value.ts'

/** The keys of the CPID in a line. */
const KEYS: readonly string[] = ['cpid', CPID_ID, 'cpid_id']

/**
 * The CPID in a log line, in canonical text, under the key `cpid`, `cpid.id` or `cpid_id`: a `key="value"` or `key=value`
 * pair, as klog and logfmt write them, or a field of a JSON object that is the line or ends it, as zap's console encoder
 * writes them. Quoted text is not searched, so that a message about a CPID is not taken for one. Undefined when there is
 * none that is a UUID.
 */
export function parseCpidFromLine(line: string): string | undefined {
  let wordStart = 0
  let mayEndInJson = line.trimEnd().endsWith('}')
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at)
    if (char === '"') {
      at = endOfQuoted(line, at)
    } else if (isBlank(char)) {
      wordStart = at + 1
    } else if (char === '=' && KEYS.includes(line.slice(wordStart, at))) {
      const cpid = readCpid(valueAt(line, at + 1))
      if (cpid !== undefined) return cpid
    } else if (char === '{' && at === wordStart && mayEndInJson) {
      const fields = objectIn(line.slice(at))
      if (fields !== undefined) return cpidAmong(fields)
      // One attempt only: a line of braces would otherwise take quadratic time.
      mayEndInJson = false
    }
  }
  return undefined
}

function cpidAmong(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of KEYS) {
    const value = ownValue(fields, key)
    const cpid = typeof value === 'string' ? readCpid(value) : undefined
    if (cpid !== undefined) return cpid
  }
  return undefined
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return undefined
  }
}

function valueAt(text: string, start: number): string {
  if (text[start] === '"') return text.slice(start + 1, endOfQuoted(text, start))
  let end = start
  while (end < text.length && !isBlank(text.charAt(end))) end++
  return text.slice(start, end)
}

/** The end of the quoted text that begins at `start`; the end of the line if it is not closed. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '"') return at
  }
  return text.length
}

function isBlank(char: string): boolean {
  return char === ' ' || char === '\t' || char === '\n' || char === '\r'
}
