import type { Json } from './json-access.ts'

/** One line that says something: how deep it is, after how many dashes. */
interface Line {
  readonly indent: number
  readonly text: string
}

const BLANK = /^ *(?:#.*)?$/
const ENTRY = /^([A-Za-z][A-Za-z\d_./-]{0,99}):(?: (\S.*))?$/
const PLAIN = /^(?:[A-Za-z\d/]|-[A-Za-z-])[A-Za-z\d/=+_.,:@%~?&*$-]*(?: [A-Za-z\d/=+_.,:@%~?&*$-]+)*$/
const MEANS_MORE = /: |:$|^\d+(?:\.\d*)?(?:e[-+]?\d+)?$|^0o[0-7]+$|^0x[\da-f]+$/i
const QUOTED = /^"([ !#-[\]-~]*)"$|^'([ -&(-~]*)'$/
const WORDS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['{}', {}],
  ['[]', []],
])

/** What is not plain. */
class NotPlain extends Error {}

/**
 * What YAML says that is as programs write it: blocks of maps and lists, and values of one line. Undefined for any other, which may be
 * YAML all the same. Reading this takes a fraction of the time that loading a whole reader of YAML does.
 */
export function parsePlainYaml(text: string): Json | undefined {
  try {
    const lines = text
      .split('\n')
      .filter((line) => !BLANK.test(line))
      .map((line) => ({ indent: line.search(/[^ ]/), text: line.trimStart() }))
    return new PlainReader(lines).whole()
  } catch (error) {
    if (error instanceof NotPlain) return undefined
    throw error
  }
}

class PlainReader {
  readonly #lines: Line[]
  #at = 0

  constructor(lines: Line[]) {
    this.#lines = lines
  }

  whole(): Json {
    const content = this.#block(0)
    if (this.#at < this.#lines.length) throw new NotPlain()
    return content
  }

  #block(indent: number): Json {
    const line = this.#lines[this.#at]
    if (line?.indent !== indent) throw new NotPlain()
    return line.text.startsWith('- ') ? this.#list(indent) : this.#map(indent)
  }

  #map(indent: number): Json {
    const entries = new Map<string, Json>()
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      const [, key = '', value] = ENTRY.exec(line.text) ?? []
      if (key === '' || entries.has(key) || WORDS.has(key.toLowerCase())) throw new NotPlain()
      this.#at++
      entries.set(key, value === undefined ? this.#below(indent) : scalar(value))
    }
    return Object.fromEntries(entries)
  }

  /** What stands under a key: deeper, or a list that is as deep, or nothing. */
  #below(indent: number): Json {
    const next = this.#lines[this.#at]
    if (next === undefined || next.indent < indent) return null
    if (next.indent > indent) return this.#block(next.indent)
    return next.text.startsWith('- ') ? this.#list(indent) : null
  }

  #list(indent: number): Json {
    const items: Json[] = []
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      if (!line.text.startsWith('- ')) break
      const text = line.text.slice(2)
      if (text.startsWith('- ')) throw new NotPlain()
      if (ENTRY.test(text)) {
        this.#lines[this.#at] = { indent: indent + 2, text }
        items.push(this.#map(indent + 2))
      } else {
        this.#at++
        items.push(scalar(text))
      }
    }
    return items
  }
}

function scalar(text: string): Json {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  const quoted = QUOTED.exec(text)
  if (quoted !== null) return quoted[1] ?? quoted[2] ?? ''
  if (!PLAIN.test(text) || MEANS_MORE.test(text) || WORDS.has(text.toLowerCase())) throw new NotPlain()
  return text
}
