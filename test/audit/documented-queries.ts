import { readFileSync } from 'node:fs'

export const AUDIT_DOCS = new URL('../../docs/audit.md', import.meta.url)

/** A query of docs/audit.md, with what the document says comes of it. */
export interface DocumentedQuery {
  title: string
  sql: string
  answer: string
  /** What to ask in the plain shell: the query itself when it uses no function of `causeway sql`. */
  plainSql: string | undefined
  /** What to ask in ClickHouse: the query itself where that is understood there. */
  clickHouseSql: string
}

const SECTION = /^### (.+)\n([\s\S]*?)(?=^##)/gm
const BLOCK = /```(sql sqlite3|sql clickhouse|sql|text)\n([\s\S]*?)```/g
const FUNCTIONS = /\b(related|ancestors|roots)\(/

export function readAuditDocs(): string {
  return readFileSync(AUDIT_DOCS, 'utf8')
}

export function documentedQueries(text: string): DocumentedQuery[] {
  return [...text.matchAll(SECTION)].map(([, title = '', body = '']) => {
    const blocks = new Map([...body.matchAll(BLOCK)].map(([, kind, content = '']) => [kind, content]))
    const sql = blocks.get('sql') ?? ''
    return {
      title,
      sql,
      answer: blocks.get('text') ?? '',
      clickHouseSql: blocks.get('sql clickhouse') ?? sql,
      plainSql: FUNCTIONS.test(sql) ? blocks.get('sql sqlite3') : sql,
    }
  })
}

/** The document with other answers, by the title of the question. */
export function withAnswers(text: string, answers: ReadonlyMap<string, string>): string {
  return text.replaceAll(SECTION, (section: string, title: string) =>
    section.replace(/```text\n[\s\S]*?```/, () => `\`\`\`text\n${answers.get(title) ?? ''}\`\`\``),
  )
}
