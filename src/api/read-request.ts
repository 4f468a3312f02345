import type { Question } from '../query/question.ts'
import type { Failure } from './failure.ts'
import { PARAMETERS, type Parameter } from './routes/parameters.ts'
import type { About, Route } from './routes/route.ts'
import { ROUTES } from './routes/routes.ts'

const PREFIX = '/api/v1'
const MAX_SHOWN = 100

/** What a request asks, or why it asks nothing. */
export type Asked =
  | { readonly kind: 'question'; readonly question: Question }
  | { readonly kind: 'about'; readonly tell: (about: About) => unknown }
  | { readonly kind: 'failure'; readonly failure: Failure; readonly message?: string }

const KNOWN = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(
    `^${PREFIX}${route.path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`,
  ),
}))

/** What a path and its query string ask. */
export function readRequest(target: string): Asked {
  const url = URL.parse(target, 'http://causeway')
  if (url === null) return failed('unknownPath')
  for (const { route, pattern } of KNOWN) {
    const found = pattern.exec(url.pathname)
    if (found !== null) return readRoute(route, found.groups ?? {}, url.searchParams)
  }
  return failed('unknownPath')
}

function readRoute(
  { query, ask, tell }: Route,
  inPath: Readonly<Record<string, string>>,
  search: URLSearchParams,
): Asked {
  const wrong = wrongNames(query, search)
  if (wrong !== undefined) return failed('badParameter', wrong)
  const texts = [
    ...Object.entries(inPath),
    ...query.map((name) => [name, search.get(name) ?? undefined] as const),
  ] as [keyof typeof PARAMETERS, string | undefined][]
  const values: Record<string, unknown> = {}
  for (const [name, text] of texts) {
    const parameter: Parameter<unknown> = PARAMETERS[name]
    const read = text === undefined ? undefined : parameter.read(text)
    if (typeof read === 'string') return failed(read)
    if (read === undefined && parameter.missing !== undefined) return failed(parameter.missing)
    values[name] = read?.value
  }
  if (ask !== undefined) return { kind: 'question', question: ask(values) }
  return tell === undefined ? failed('unknownPath') : { kind: 'about', tell }
}

/** What is wrong with the names of the parameters: a filter that is ignored would answer with more than was asked for. */
function wrongNames(names: readonly string[], search: URLSearchParams): string | undefined {
  const given = [...search.keys()]
  const unknown = given.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const known = names.length === 0 ? 'none' : names.join(', ')
    return `unknown parameter ${JSON.stringify(unknown.slice(0, MAX_SHOWN))}; what is understood here: ${known}`
  }
  const twice = given.find((name, at) => given.indexOf(name) !== at)
  return twice === undefined ? undefined : `parameter ${twice} is given twice; give it once`
}

function failed(failure: Failure, message?: string): Asked {
  return { kind: 'failure', failure, ...(message !== undefined && { message }) }
}
