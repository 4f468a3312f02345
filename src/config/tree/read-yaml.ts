import { LineCounter, parseDocument } from 'yaml'
import type { RawNode } from './raw-node.ts'

export type YamlReading = { kind: 'read'; node: RawNode } | { kind: 'faulty'; faults: string[] }

/** Reads one YAML (or JSON) document; each fault says its line and column. */
export function readYaml(text: string): YamlReading {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false, merge: true, logLevel: 'error' })
  if (document.errors.length > 0) {
    return { kind: 'faulty', faults: document.errors.map((fault) => describeFault(fault, lineCounter)) }
  }
  try {
    return { kind: 'read', node: (document.toJS() ?? null) as RawNode }
  } catch (fault) {
    return { kind: 'faulty', faults: [fault instanceof Error ? fault.message : String(fault)] }
  }
}

function describeFault(fault: { message: string; pos: [number, number] }, lines: LineCounter): string {
  const { line, col } = lines.linePos(fault.pos[0])
  return `line ${line}, column ${col}: ${fault.message.split('\n', 1).join('')}`
}
