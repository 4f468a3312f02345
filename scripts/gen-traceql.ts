import { readFileSync } from 'node:fs'
import { buildParserFile } from '@lezer/generator'

const GRAMMAR = new URL('../src/query/traceql/traceql.grammar', import.meta.url)
/** The parser's tables: made of the grammar, and nothing that anybody writes. */
export const TRACEQL_PARSER = new URL('../src/query/traceql/grammar.ts', import.meta.url)

export function renderTraceQlParser(): string {
  const warn = (message: string): never => {
    throw new Error(message)
  }
  const { parser } = buildParserFile(readFileSync(GRAMMAR, 'utf8'), {
    fileName: 'traceql.grammar',
    typeScript: true,
    warn,
  })
  return parser
}
