/** A TraceQL value. Integers and durations have 64 bits, so they are not doubles. */
export type Static =
  | { readonly type: 'nil' }
  | { readonly type: 'int'; readonly value: bigint }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  /** In nanoseconds. */
  | { readonly type: 'duration'; readonly value: bigint }
  | { readonly type: 'status'; readonly value: Status }
  | { readonly type: 'kind'; readonly value: Kind }
  | { readonly type: 'ints'; readonly value: readonly bigint[] }
  | { readonly type: 'floats'; readonly value: readonly number[] }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'booleans'; readonly value: readonly boolean[] }

export type StaticType = Static['type']
/** `attribute`: known only from the span. */
export type Type = StaticType | 'attribute'

/** In the order of OTLP's numbers. */
export const STATUSES = ['unset', 'ok', 'error'] as const
export const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const
type Status = (typeof STATUSES)[number]
export type Kind = (typeof KINDS)[number]

export type Scope = 'span' | 'resource' | 'event' | 'link' | 'instrumentation'

/** The fields that every span has, under their names in answers. */
export type IntrinsicName =
  | 'duration'
  | 'name'
  | 'status'
  | 'statusMessage'
  | 'kind'
  | 'rootName'
  | 'rootServiceName'
  | 'traceDuration'
  | 'nestedSetLeft'
  | 'nestedSetRight'
  | 'nestedSetParent'
  | 'trace:id'
  | 'span:id'
  | 'span:parentID'
  | 'span:childCount'
  | 'event:name'
  | 'event:timeSinceStart'
  | 'link:traceID'
  | 'link:spanID'
  | 'instrumentation:name'
  | 'instrumentation:version'
  /** When the span started; has no query syntax. */
  | 'start'

export type Attribute =
  /** `any`: of any scope, the span first. */
  | { readonly kind: 'attribute'; readonly scope: Scope | 'any'; readonly name: string }
  | { readonly kind: 'attribute'; readonly scope: 'intrinsic'; readonly name: IntrinsicName }

export type Comparison = '=' | '!=' | '=~' | '!~' | '>' | '>=' | '<' | '<='
export type Arithmetic = '+' | '-' | '*' | '/' | '%' | '^'
/** Operators with a list of values on one side. They have no query syntax; they replace `=` with `||`, and so on. */
export type ListOperator = 'in' | 'notIn' | 'matchesAny' | 'matchesNone'
/** Not in TraceQL: text contains another text, ignoring case; value equals a text when written as one. */
type TextOperator = 'contains' | 'reads'
export type Operator = Comparison | Arithmetic | ListOperator | TextOperator | '&&' | '||'

/** An expression about one span. */
export type Field =
  | { readonly kind: 'static'; readonly value: Static }
  | Attribute
  | { readonly kind: 'binary'; readonly operator: Operator; readonly left: Field; readonly right: Field }
  | { readonly kind: 'unary'; readonly operator: '-' | '!' | 'exists' | 'absent'; readonly of: Field }

/** The relation between the spans of two sets. */
export type Relation = 'descendant' | 'ancestor' | 'child' | 'parent' | 'sibling'

export type Spansets =
  | { readonly kind: 'filter'; readonly field: Field }
  | {
      readonly kind: 'logic'
      readonly operator: '&&' | '||'
      readonly left: Spansets
      readonly right: Spansets
    }
  | {
      readonly kind: 'relation'
      readonly relation: Relation
      /** `none`: spans on the right without this relation to any span on the left. `both`: the spans of both sides. */
      readonly of: 'right' | 'none' | 'both'
      readonly left: Spansets
      readonly right: Spansets
    }
  | Pipeline

export interface Pipeline {
  readonly kind: 'pipeline'
  readonly stages: readonly Stage[]
}

export interface Aggregate {
  readonly kind: 'aggregate'
  readonly operator: 'count' | 'avg' | 'min' | 'max' | 'sum'
  readonly of?: Field
}

export type Scalar =
  | { readonly kind: 'static'; readonly value: Static }
  | Aggregate
  | { readonly kind: 'scalar'; readonly operator: Arithmetic; readonly left: Scalar; readonly right: Scalar }
  | Pipeline

export type Stage =
  | Spansets
  | {
      readonly kind: 'scalarFilter'
      readonly operator: Comparison
      readonly left: Scalar
      readonly right: Scalar
    }
  | { readonly kind: 'by'; readonly field: Field }
  | { readonly kind: 'coalesce' }
  | { readonly kind: 'select'; readonly attributes: readonly Attribute[] }
  /** Only at the end of a pipeline in a scalar expression. */
  | Aggregate

export type MetricName =
  | 'rate'
  | 'count_over_time'
  | 'min_over_time'
  | 'max_over_time'
  | 'avg_over_time'
  | 'sum_over_time'
  | 'quantile_over_time'
  | 'histogram_over_time'

export type Metric =
  | {
      readonly kind: 'metric'
      readonly name: MetricName
      readonly of?: Attribute
      readonly quantiles: readonly number[]
      readonly by: readonly Attribute[]
    }
  | {
      readonly kind: 'compare'
      readonly field: Field
      readonly top: number
      /** In nanoseconds since 1970; 0 if not given. */
      readonly from: bigint
      readonly to: bigint
    }

/** A stage applied to the series of a metric. */
export type SecondStage =
  | { readonly kind: 'topk' | 'bottomk'; readonly limit: number }
  | { readonly kind: 'keep'; readonly operator: Comparison; readonly value: number }

export interface Query {
  readonly pipeline: Pipeline
  readonly metric?: Metric
  /** Stages applied to the series of the metric. */
  readonly seconds: readonly SecondStage[]
  readonly hints: readonly { readonly name: string; readonly value: Static }[]
}

/** An error of a query that only occurs on some spans. */
export const failsOnSpan = (reason: string): TraceQlError =>
  new TraceQlError(`${reason}: leave such spans out with a condition before it`)

/** An error in a query, in words for its author. */
export class TraceQlError extends Error {}
