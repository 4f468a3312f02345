import type { Part } from '../query/question.ts'
import type { Failure } from './failure.ts'

const MAX_LIMIT = 10_000
const MAX_TEXT = 1_024
const WHOLE_NUMBER = /^[0-9]{1,5}$/

/** Which part of a list is asked for. */
export function readPart(search: URLSearchParams): Part | Failure {
  const after = search.get('after')
  const limit = search.has('limit') ? readLimit(search, MAX_LIMIT) : undefined
  if (limit === 'badLimit') return limit
  return { ...(limit !== undefined && { limit }), ...(after !== null && { after }) }
}

export function readLimit(search: URLSearchParams, otherwise: number): number | 'badLimit' {
  const text = search.get('limit')
  if (text === null) return otherwise
  const limit = WHOLE_NUMBER.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= MAX_LIMIT ? limit : 'badLimit'
}

/** A text to look for; an empty one is none. */
export function readText(search: URLSearchParams, name: string): string | undefined {
  const text = search.get(name)
  return text === null || text.trim() === '' ? undefined : text
}

export function isTooLong(text: string | undefined): boolean {
  return text !== undefined && text.length > MAX_TEXT
}
