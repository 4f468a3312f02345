import type { Attribute, Field, Operator, Pipeline, Static } from './syntax.ts'

/** The condition that every span meets. */
export const ANY_SPAN: Field = { kind: 'static', value: { type: 'boolean', value: true } }

const intrinsic = (name: Extract<Attribute, { scope: 'intrinsic' }>['name']): Attribute => ({
  kind: 'attribute',
  scope: 'intrinsic',
  name,
})

export const INTRINSIC = {
  name: intrinsic('name'),
  kind: intrinsic('kind'),
  status: intrinsic('status'),
  statusMessage: intrinsic('statusMessage'),
  duration: intrinsic('duration'),
  rootName: intrinsic('rootName'),
  rootServiceName: intrinsic('rootServiceName'),
  traceDuration: intrinsic('traceDuration'),
  scopeName: intrinsic('instrumentation:name'),
  scopeVersion: intrinsic('instrumentation:version'),
}

/** Tags to which Tempo gives names of their own. */
export const OLD_TAGS: Readonly<Record<string, Attribute>> = {
  name: INTRINSIC.name,
  'status.code': INTRINSIC.status,
  'root.name': INTRINSIC.rootName,
  'root.service.name': INTRINSIC.rootServiceName,
}

export const SERVICE: Attribute = { kind: 'attribute', scope: 'resource', name: 'service.name' }

export function allOf(left: Field, right: Field): Field {
  if (left === ANY_SPAN) return right
  return right === ANY_SPAN ? left : { kind: 'binary', operator: '&&', left, right }
}

export function anyOf(first: Field, ...others: readonly Field[]): Field {
  return others.reduce((left, right) => ({ kind: 'binary', operator: '||', left, right }), first)
}

/** Compares an attribute with a string, or with a duration in nanoseconds. */
export function compare(attribute: Attribute, operator: Operator, value: string | number): Field {
  const operand: Static =
    typeof value === 'string'
      ? { type: 'string', value }
      : { type: 'duration', value: BigInt(Math.round(value)) }
  return { kind: 'binary', operator, left: attribute, right: { kind: 'static', value: operand } }
}

/** A pipeline that begins with a filter. */
export function spansWith(filter: Field, pipeline?: Pipeline): Pipeline {
  if (filter === ANY_SPAN && pipeline !== undefined) return pipeline
  return { kind: 'pipeline', stages: [{ kind: 'filter', field: filter }, ...(pipeline?.stages ?? [])] }
}
