const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const TRACE_ID = '\\b[0-9a-f]{32}\\b'
const VERSION = '(?<=&rv=)\\d+'
/** What the demo's controllers call the objects they make. */
const MADE_UP = 'web(?:-[0-9a-f]{5})+'
const UNSTABLE = new RegExp([UUID, TRACE_ID, VERSION, MADE_UP].join('|'), 'g')

/** Names ids by their kind and by when they were met: `span(1)`. CPIDs, which are known before, are `change(0)`. */
export class StableNames {
  readonly #cpids: ReadonlySet<string>
  readonly #traceCpids: ReadonlyMap<string, string>
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  constructor(cpids: ReadonlySet<string>) {
    this.#cpids = cpids
    this.#traceCpids = new Map([...cpids].map((cpid) => [cpid.replaceAll('-', ''), cpid]))
    for (const cpid of cpids) this.#numbered('change', cpid)
  }

  inText(text: string): string {
    return text.replace(UNSTABLE, (found) => this.#nameOf(found))
  }

  ofSpan(spanId: string): string {
    return this.#numbered('span', spanId)
  }

  #nameOf(found: string): string {
    if (this.#cpids.has(found)) return this.#numbered('change', found)
    const cpid = this.#traceCpids.get(found)
    if (cpid !== undefined) return `trace of ${this.#numbered('change', cpid)}`
    if (/^\d+$/.test(found) && found.length < 32) return this.#numbered('version', found)
    if (found.startsWith('web-')) return this.#numbered('name', found)
    return this.#numbered(found.includes('-') ? 'uuid' : 'trace', found)
  }

  #numbered(kind: string, id: string): string {
    const known = this.#names.get(`${kind} ${id}`)
    if (known !== undefined) return known
    const count = this.#counts.get(kind) ?? 0
    this.#counts.set(kind, count + 1)
    const name = `${kind}(${count})`
    this.#names.set(`${kind} ${id}`, name)
    return name
  }
}
