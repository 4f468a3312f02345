import { PATHS } from './openapi/paths.ts'

const PREFIX = '/api/v1'
const MOST_SHOWN = 100

const KNOWN = PATHS.map(({ path, query }) => ({
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  names: query,
}))

/**
 * What is wrong with the names of a request's parameters, as OpenAPI lists them: a filter that is ignored would answer with
 * more than was asked for. Undefined when nothing is, and where there is no such path.
 */
export function wrongParameter(target: string): string | undefined {
  const url = URL.parse(target, 'http://causeway')
  if (url?.pathname.startsWith(PREFIX) !== true) return undefined
  const path = url.pathname.slice(PREFIX.length)
  const names = KNOWN.find(({ pattern }) => pattern.test(path))?.names
  if (names === undefined) return undefined
  const given = [...url.searchParams.keys()]
  const unknown = given.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const known = names.length === 0 ? 'none' : names.join(', ')
    return `unknown parameter ${JSON.stringify(unknown.slice(0, MOST_SHOWN))}; what is understood here: ${known}`
  }
  const twice = given.find((name, at) => given.indexOf(name) !== at)
  return twice === undefined ? undefined : `parameter ${twice} is given twice; give it once`
}
