import { readFileSync } from 'node:fs'

export const AUDIT_DOCS = new URL('../../docs/audit.md', import.meta.url)
/** What to ask of the plain shell and of ClickHouse, where that is something else, under the same titles. */
const OTHER_FORMS = new URL('../../examples/audit/README.md', import.meta.url)

/** A query of docs/audit.md, with what the document says comes of it. */
interface DocumentedQuery {
  title: string
  sql: string
  answer: string
  /** What to ask in the plain shell: the query itself when it uses no function of `causeway sql`. */
  plainSql: string | undefined
  /** What to ask in ClickHouse: the query itself where that is understood there. */
  clickHouseSql: string
}

const SECTION = /^### (.+)\n([\s\S]*?)(?=^##|(?![\s\S]))/gm
const BLOCK = /```(sql sqlite3|sql clickhouse|sql|text)\n([\s\S]*?)```/g
const FUNCTIONS = /\b(related|ancestors|roots)\(/

export function readAuditDocs(): string {
  return readFileSync(AUDIT_DOCS, 'utf8')
}

export function documentedQueries(): DocumentedQuery[] {
  const forms = sectionsOf(readFileSync(OTHER_FORMS, 'utf8'))
  const questions = sectionsOf(readAuditDocs())
  for (const title of forms.keys())
    if (!questions.has(title))
      throw new Error(`examples/audit/README.md answers no question of docs/audit.md: ${title}`)
  return [...questions].map(([title, blocks]) => {
    const sql = blocks.get('sql') ?? ''
    const others = forms.get(title)
    return {
      title,
      sql,
      answer: blocks.get('text') ?? '',
      clickHouseSql: others?.get('sql clickhouse') ?? sql,
      plainSql: FUNCTIONS.test(sql) ? others?.get('sql sqlite3') : sql,
    }
  })
}

/** The blocks of each question of a document, by their kind. */
function sectionsOf(text: string): Map<string, Map<string, string>> {
  return new Map(
    [...text.matchAll(SECTION)].map(([, title = '', body = '']) => [
      title,
      new Map([...body.matchAll(BLOCK)].map(([, kind = '', content = '']) => [kind, content])),
    ]),
  )
}

/** The document with other answers, by the title of the question. */
export function withAnswers(text: string, answers: ReadonlyMap<string, string>): string {
  return text.replaceAll(SECTION, (section: string, title: string) =>
    section.replace(/```text\n[\s\S]*?```/, () => `\`\`\`text\n${answers.get(title) ?? ''}\`\`\``),
  )
}
