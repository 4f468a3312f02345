import { readFileSync } from 'node:fs'
import { anchorOf } from '../../scripts/anchor-of.ts'

/** The anchors of the headings of a document, as GitHub makes them. */
export function anchorsOf(path: URL): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^```.*?^```/gms, '')
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)))
}
