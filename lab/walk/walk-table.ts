import { table } from '../charts/markdown.ts'
import type { Counts } from './coverage.ts'
import type { Walks } from './walks.ts'

const BEGIN = '<!-- walk: written by npm run walk -- --write -->'
const END = '<!-- /walk -->'

type Numbers = Partial<Counts>

const ABOUT: Record<keyof Walks, { what: string; aim: Numbers }> = {
  span: {
    what: 'a span with a CPID: in over gRPC, linked, sent on over gRPC',
    aim: { functions: 200, files: 60, rooms: 7 },
  },
  mergelog: { what: 'a mergelog: in over gRPC, recorded in the merge graph', aim: {} },
  search: {
    what: 'a search: TraceQL at `/tempo/api/search`, with the start of its thread',
    aim: { files: 30 },
  },
  pod: { what: 'a Pod: seen by a watch, inferred, linked, sent on', aim: {} },
  start: { what: 'a start that takes and sends OTLP: files loaded', aim: { files: 350 } },
}

const COLUMNS = ['functions', 'files', 'rooms'] as const

/** The table of how far each item travels, with the aims that there are. */
export function walkTable(walks: Walks): string {
  const items = Object.keys(ABOUT) as (keyof Walks)[]
  const rows = items.map((item) => {
    const found: Numbers = walks[item]
    const { what, aim } = ABOUT[item]
    return [what, ...COLUMNS.map((column) => cell(found[column], aim[column]))]
  })
  return table([['', ...COLUMNS], ...rows], true)
}

function cell(value: number | undefined, aim: number | undefined): string {
  if (value === undefined) return ''
  if (aim === undefined) return String(value)
  return `${value} (aim: at most ${aim}, ${value <= aim ? 'met' : 'missed'})`
}

/** ARCHITECTURE.md with the table between its two marks. Throws when they are not there. */
export function withWalks(text: string, walks: Walks): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`ARCHITECTURE.md lacks the marks ${BEGIN} and ${END}`)
  return `${text.slice(0, begin)}${BEGIN}\n\n${walkTable(walks)}\n\n${text.slice(end)}`
}
