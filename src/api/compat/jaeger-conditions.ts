import { ALL, both, type Condition, type Operator, type Subject } from '../../query/traces/condition.ts'
import { BadParameter } from './parameters.ts'

/** Spans of a service, with a name; without either they may be anybody's. */
export function isOf(service: string | undefined, operation: string | undefined): Condition {
  return both(
    service === undefined ? ALL : compare({ scope: 'resource', key: 'service.name' }, '=', service),
    operation === undefined ? ALL : compare({ scope: 'intrinsic', key: 'name' }, '=', operation),
  )
}

/** Spans that take at least and at most so many nanoseconds. */
export function lasts(least: number | undefined, most: number | undefined): Condition {
  const limit = (operator: Operator, nanos: number | undefined): Condition =>
    nanos === undefined ? ALL : compare({ scope: 'intrinsic', key: 'duration' }, operator, nanos)
  return both(limit('>=', least), limit('<=', most))
}

/** Spans with all of the tags in a JSON object of texts, as Jaeger's clients write them. */
export function hasTags(name: string, json: string | undefined): Condition {
  if (json === undefined) return ALL
  return Object.entries(parsed(name, json)).reduce<Condition>((condition, [key, value]) => {
    if (typeof value === 'object') throw notTags(name)
    return both(condition, tagIs(key, String(value)))
  }, ALL)
}

/** A tag written as key:value. */
export function hasTag(text: string): Condition {
  const [key = '', value] = text.split(/:(.*)/s)
  if (value === undefined || key === '')
    throw new BadParameter(`malformed parameter tag: ${JSON.stringify(text.slice(0, 100))}; write key:value`)
  return tagIs(key, value)
}

function parsed(name: string, json: string): object {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Said below, in our own words.
  }
  throw notTags(name)
}

function notTags(name: string): BadParameter {
  return new BadParameter(
    `malformed parameter ${name}: it is a JSON object of texts, such as {"http.status_code":"500"}`,
  )
}

/** Tags are texts to Jaeger; error=true is a status here. */
function tagIs(key: string, value: string): Condition {
  if (key === 'error' && value === 'true') return compare({ scope: 'intrinsic', key: 'status' }, '=', 'error')
  const subject: Subject = { scope: 'any', key }
  const asText = compare(subject, '=', value)
  const other = value === 'true' || value === 'false' ? value === 'true' : Number(value)
  if (value === '' || Number.isNaN(other)) return asText
  return { kind: 'or', left: asText, right: { kind: 'compare', subject, operator: '=', value: other } }
}

function compare(subject: Subject, operator: Operator, value: string | number): Condition {
  return { kind: 'compare', subject, operator, value }
}
