import { openApiDocument, PARAMETERS, type Route } from '../src/query/http/route.ts'
import { ROUTES } from '../src/query/http/routes.ts'
import { markdownTable } from './markdown-table.ts'

export const API_DOCS = new URL('../docs/reference/api.md', import.meta.url)

const INTRODUCTION = `<!-- Written by npm run gen from src/query/http and src/query/answer-schemas.ts; change it there. -->

# HTTP API

For whoever writes a program that asks Causeway: every path under \`/api/v1\`, its parameters, and the fields of its answer.
[query.md](../query.md) says how to ask, and what the figures mean. \`/api/v1/openapi.json\` has the same for programs, with types.`

/** The answer that is this document for programs. */
const ITSELF = 'OpenApi'

interface JsonSchema {
  $ref?: string
  type?: string | readonly string[]
  description?: string
  properties?: Readonly<Record<string, JsonSchema>>
  required?: readonly string[]
  items?: JsonSchema
  anyOf?: readonly JsonSchema[]
  enum?: readonly string[]
}

/** The text of docs/reference/api.md. */
export function renderApiDocs(): string {
  const { components } = openApiDocument(ROUTES, '') as {
    components: { schemas: Record<string, JsonSchema> }
  }
  // In order of their names: their own order is that in which modules were loaded.
  const shapes = Object.entries(components.schemas)
    .filter(([name, { properties }]) => properties !== undefined && name !== ITSELF && !(name in TEXTS))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    INTRODUCTION,
    '## Paths',
    markdownTable(['path', 'parameters', 'answer', 'what it does'], ROUTES.map(rowOfRoute)),
    '## Parameters',
    markdownTable(
      ['name', 'meaning'],
      Object.entries(PARAMETERS).map(([name, { description }]) => [`\`${name}\``, description]),
    ),
    '## Answers',
    ...shapes.flatMap(([name, shape]) => [`### ${name}`, fieldsOf(name, shape, shapes)]),
  ]
    .join('\n\n')
    .concat('\n')
}

function rowOfRoute({ path, query, answer, summary }: Route): string[] {
  const parameters = query.map((name) => `\`${name}\``).join(', ')
  const id = answer.meta()?.id ?? ''
  return [`\`${path}\``, parameters, id === ITSELF ? '' : linkTo(id), summary]
}

/** The fields of an answer; those that it has in common with a smaller one are described there. */
function fieldsOf(
  own: string,
  { properties = {}, required = [] }: JsonSchema,
  shapes: readonly [string, JsonSchema][],
): string {
  const isWithin = (field: string, text: string): boolean => JSON.stringify(properties[field]) === text
  const [base] = shapes.find(([name, { properties: others = {} }]) => {
    const fields = Object.entries(others)
    return (
      name !== own &&
      fields.length > 3 &&
      fields.every(([key, field]) => isWithin(key, JSON.stringify(field)))
    )
  }) ?? [undefined]
  const inherited = shapes.find(([name]) => name === base)?.[1].properties ?? {}
  const fields = Object.entries(properties).filter(([name]) => !(name in inherited))
  const lines = fields.map(([name, field]) => {
    const optional = required.includes(name) ? '' : ', may be left out'
    const meaning = field.description === undefined ? '' : `: ${field.description}`
    return `- \`${name}\` (${typeOf(field)}${optional})${meaning}`
  })
  const lead = base === undefined ? [] : [`The fields of ${linkTo(base)}, and:`, '']
  return [...lead, ...lines].join('\n')
}

function typeOf({ $ref, type, items, anyOf, enum: values, properties }: JsonSchema): string {
  if ($ref !== undefined) return linkTo($ref.slice($ref.lastIndexOf('/') + 1))
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ')
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(' or ')
  if (items !== undefined) return `list of ${typeOf(items)}`
  if (properties !== undefined) {
    const inner = Object.entries(properties).map(([name, field]) => `\`${name}\`: ${typeOf(field)}`)
    return `{ ${inner.join(', ')} }`
  }
  return [type ?? 'anything'].flat().join(' or ')
}

/** The names of texts of one form, which have no fields to go to. */
const TEXTS: Readonly<Record<string, string>> = {
  Cpid: 'CPID',
  TraceId: 'trace id',
  SpanId: 'span id',
  Time: 'time, RFC 3339',
  Next: 'text or null',
  ResourceSpans: 'OTLP ResourceSpans',
  ResourceLogs: 'OTLP ResourceLogs',
}

function linkTo(id: string): string {
  return TEXTS[id] ?? `[${id}](#${id.toLowerCase()})`
}
