/** What a condition looks at: an attribute, or something every span has. */
export type Subject =
  | { readonly scope: 'span' | 'resource' | 'any' | 'link'; readonly key: string }
  | { readonly scope: 'intrinsic'; readonly key: Intrinsic }

export type Intrinsic =
  | 'name'
  | 'status'
  | 'statusMessage'
  | 'kind'
  | 'duration'
  | 'rootName'
  | 'rootServiceName'
  | 'traceDuration'
  | 'traceId'
  | 'spanId'
  | 'linkTraceId'
  | 'linkSpanId'

/** `contains` is about texts, in any case of letters. */
export type Operator = '=' | '!=' | '=~' | '!~' | '>' | '<' | '>=' | '<=' | 'contains'

/** Durations are numbers of nanoseconds. */
export type Value = string | number | boolean

/** Which spans are looked for. */
export type Condition =
  | { readonly kind: 'all' }
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly of: Condition }
  /** Without an operator: it is there. */
  | { readonly kind: 'exists'; readonly subject: Subject }
  | {
      readonly kind: 'compare'
      readonly subject: Subject
      readonly operator: Operator
      readonly value: Value
    }

export const ALL: Condition = { kind: 'all' }

export function both(left: Condition, right: Condition): Condition {
  if (left.kind === 'all') return right
  return right.kind === 'all' ? left : { kind: 'and', left, right }
}

/** A service that every span meeting the condition belongs to, where it says so. */
export function serviceIn(condition: Condition): string | undefined {
  if (condition.kind === 'and') return serviceIn(condition.left) ?? serviceIn(condition.right)
  if (condition.kind !== 'compare' || condition.operator !== '=') return undefined
  const { subject, value } = condition
  const isService = subject.scope === 'resource' && subject.key === 'service.name'
  return isService && typeof value === 'string' ? value : undefined
}

const OF_TRACE: readonly Intrinsic[] = ['rootName', 'rootServiceName', 'traceDuration']

/** Whether a condition asks for what only the whole trace tells. */
export function looksAtTrace(condition: Condition): boolean {
  switch (condition.kind) {
    case 'all':
      return false
    case 'and':
    case 'or':
      return looksAtTrace(condition.left) || looksAtTrace(condition.right)
    case 'not':
      return looksAtTrace(condition.of)
    case 'exists':
    case 'compare':
      return condition.subject.scope === 'intrinsic' && OF_TRACE.includes(condition.subject.key)
  }
}
