const PAIR = /\s*([^\s="]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s="]*))(?=\s|$)/y

/** The pairs of a logfmt, such as `service.name=web note="two words"`; undefined when it is none. */
export function parseLogfmt(text: string): [key: string, value: string][] | undefined {
  const pairs: [string, string][] = []
  const trimmed = text.trimEnd()
  for (let at = 0; at < trimmed.length; at = PAIR.lastIndex) {
    PAIR.lastIndex = at
    const [, key, quoted, bare = ''] = PAIR.exec(trimmed) ?? []
    if (key === undefined) return undefined
    pairs.push([key, quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gs, '$1')])
  }
  return pairs
}
