import { isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { errorText } from '../../model/error-text.ts'
import type { RawNode } from './raw-node.ts'

export type YamlReading = { kind: 'read'; node: RawNode } | { kind: 'faulty'; faults: string[] }

/** More than any configuration needs, and little enough for whatever walks over it. */
const MAX_DEPTH = 100
const TOO_DEEP = `nested more than ${MAX_DEPTH} deep, or an anchor that contains itself; write it flatter`

/** Reads one YAML (or JSON) document; each fault says its line and column. */
export function readYaml(text: string): YamlReading {
  const lineCounter = new LineCounter()
  try {
    // The parser compares each key with all before it; here that is done by looking it up.
    const options = {
      lineCounter,
      prettyErrors: false,
      merge: true,
      uniqueKeys: false,
      logLevel: 'error',
    } as const
    const document = parseDocument(text, options)
    const found = [...document.errors, ...repeatedKeys(document)]
    // The parser calls itself for each level, until the stack is used up; what else it says then follows from that.
    if (found.some(({ message }) => message.includes('call stack')))
      return { kind: 'faulty', faults: [TOO_DEEP] }
    if (found.length > 0)
      return { kind: 'faulty', faults: found.map((fault) => describeFault(fault, lineCounter)) }
    const node = (document.toJS() ?? null) as RawNode
    return isTooDeep(node, MAX_DEPTH) ? { kind: 'faulty', faults: [TOO_DEEP] } : { kind: 'read', node }
  } catch (fault) {
    if (fault instanceof RangeError) return { kind: 'faulty', faults: [TOO_DEEP] }
    return { kind: 'faulty', faults: [errorText(fault)] }
  }
}

interface Fault {
  readonly message: string
  readonly pos: readonly [number, number]
}

function repeatedKeys(document: Document.Parsed): Fault[] {
  const faults: Fault[] = []
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const [start = 0, end = 0] = key.range ?? []
        if (seen.has(key.value)) faults.push({ message: 'Map keys must be unique', pos: [start, end] })
        seen.add(key.value)
      }
    },
  })
  return faults
}

function isTooDeep(node: unknown, levels: number): boolean {
  if (typeof node !== 'object' || node === null) return false
  return levels === 0 || Object.values(node).some((inner) => isTooDeep(inner, levels - 1))
}

function describeFault(fault: Fault, lines: LineCounter): string {
  const { line, col } = lines.linePos(fault.pos[0])
  return `line ${line}, column ${col}: ${fault.message.split('\n', 1).join('')}`
}
