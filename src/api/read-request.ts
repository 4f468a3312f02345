import { parseCpid, type Cpid } from '../model/cpid.ts'
import type { Part, Question } from '../query/question.ts'
import type { Failure } from './failure.ts'

const PREFIX = '/api/v1/'
const MAX_LIMIT = 10_000
const DEFAULT_LIMIT = 1_000
const WHOLE_NUMBER = /^[0-9]{1,5}$/

/** The question that a path and its query string ask. */
export function readRequest(target: string): Question | Failure {
  const url = URL.parse(target, 'http://causeway')
  if (url?.pathname.startsWith(PREFIX) !== true) return 'unknownPath'
  const [list = '', cpidText, part, ...more] = url.pathname.slice(PREFIX.length).split('/')
  if (more.length > 0) return 'unknownPath'
  if (list === 'cascades') return askForCascades(cpidText, part, url.searchParams)
  if (list !== 'cpids') return cpidText === undefined ? askForAll(list, url.searchParams) : 'unknownPath'
  if (cpidText === undefined || cpidText === '') return 'unknownPath'
  const cpid = parseCpid(cpidText)
  return askAbout(part, cpid, url.searchParams)
}

function askForCascades(
  root: string | undefined,
  rest: string | undefined,
  search: URLSearchParams,
): Question | Failure {
  if (rest !== undefined || root === '') return 'unknownPath'
  if (root !== undefined) {
    const cpid = parseCpid(root)
    return cpid === undefined ? 'malformedCpid' : { kind: 'cascade', root: cpid }
  }
  const part = readPart(search)
  if (typeof part === 'string') return part
  const state = readState(search.get('state'))
  if (state === 'badState') return state
  const object = search.get('object')
  const service = search.get('service')
  const filter = { ...(state && { state }), ...(object && { object }), ...(service && { service }) }
  return { kind: 'cascades', filter, part: { limit: DEFAULT_LIMIT, ...part } }
}

function readState(text: string | null): 'open' | 'settled' | 'badState' | undefined {
  if (text === null || text === 'open' || text === 'settled') return text ?? undefined
  return 'badState'
}

function askForAll(list: string, search: URLSearchParams): Question | Failure {
  switch (list) {
    case 'mergelogs':
    case 'spans':
    case 'logs': {
      const part = readPart(search)
      return typeof part === 'string' ? part : { kind: list, part: { limit: DEFAULT_LIMIT, ...part } }
    }
    default:
      return 'unknownPath'
  }
}

/** The path is looked at before the CPID: a mistyped path is no malformed CPID. */
function askAbout(
  part: string | undefined,
  cpid: Cpid | undefined,
  search: URLSearchParams,
): Question | Failure {
  switch (part) {
    case undefined:
      return cpid === undefined ? 'malformedCpid' : { kind: 'cpid', cpid }
    case 'related':
    case 'ancestors':
    case 'roots':
      return cpid === undefined ? 'malformedCpid' : { kind: part, cpid }
    case 'mergelogs':
    case 'spans':
    case 'logs': {
      if (cpid === undefined) return 'malformedCpid'
      const asked = readPart(search)
      return typeof asked === 'string' ? asked : { kind: part, cpid, part: asked }
    }
    default:
      return 'unknownPath'
  }
}

function readPart(search: URLSearchParams): Part | Failure {
  const limitText = search.get('limit')
  const after = search.get('after')
  const limit = limitText === null ? undefined : readLimit(limitText)
  if (limit === 'badLimit') return limit
  return { ...(limit !== undefined && { limit }), ...(after !== null && { after }) }
}

function readLimit(text: string): number | 'badLimit' {
  const limit = WHOLE_NUMBER.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= MAX_LIMIT ? limit : 'badLimit'
}
