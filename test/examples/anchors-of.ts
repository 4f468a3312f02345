import { readFileSync } from 'node:fs'

/** The anchors of the headings of a document, as GitHub makes them. */
export function anchorsOf(path: URL): Set<string> {
  const text = readFileSync(path, 'utf8').replace(/^```.*?^```/gms, '')
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)))
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replace(/ /g, '-')
}
