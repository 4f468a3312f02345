/** A TraceQL value. Integers and durations have 64 bits, and so are bigints. */
export type Static =
  | { readonly type: 'nil' }
  | { readonly type: 'int'; readonly value: bigint }
  | { readonly type: 'float'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  /** A duration in nanoseconds. */
  | { readonly type: 'duration'; readonly value: bigint }
  | { readonly type: 'status'; readonly value: Status }
  | { readonly type: 'kind'; readonly value: Kind }
  | { readonly type: 'ints'; readonly value: readonly bigint[] }
  | { readonly type: 'floats'; readonly value: readonly number[] }
  | { readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly type: 'booleans'; readonly value: readonly boolean[] }

export type StaticType = Static['type']
/** `attribute`: depends on the span. */
export type Type = StaticType | 'attribute'

/** The statuses; each has its number in OTLP as its index. */
export const STATUSES = ['unset', 'ok', 'error'] as const
export const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const
type Status = (typeof STATUSES)[number]
export type Kind = (typeof KINDS)[number]

export type Scope = 'span' | 'resource' | 'event' | 'link' | 'instrumentation'

/** The intrinsic fields of a span, under their names in answers. */
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
  /** The start time of the span; queries cannot name it. */
  | 'start'

export type Attribute =
  /** `any`: an attribute without a scope: that of the span, or else of another scope. */
  | { readonly kind: 'attribute'; readonly scope: Scope | 'any'; readonly name: string }
  | { readonly kind: 'attribute'; readonly scope: 'intrinsic'; readonly name: IntrinsicName }

export type Comparison = '=' | '!=' | '=~' | '!~' | '>' | '>=' | '<' | '<='
export type Arithmetic = '+' | '-' | '*' | '/' | '%' | '^'
/** Operators with a list of values on one side. They have no query syntax; they replace `=` with `||`, and so on. */
export type ListOperator = 'in' | 'notIn' | 'matchesAny' | 'matchesNone'
/** Operators of Causeway's own. `contains`: contains a text, ignoring case. `reads`: equals a text when written as one. */
type TextOperator = 'contains' | 'reads'
export type Operator = Comparison | Arithmetic | ListOperator | TextOperator | '&&' | '||'

/** An expression about one span. */
export type Field =
  | { readonly kind: 'static'; readonly value: Static }
  | Attribute
  | { readonly kind: 'binary'; readonly operator: Operator; readonly left: Field; readonly right: Field }
  | { readonly kind: 'unary'; readonly operator: '-' | '!' | 'exists' | 'absent'; readonly of: Field }

/** A relation between spans in the tree. */
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
  /** Only in a scalar expression, at the end of its pipeline. */
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
      /** The time range of the selection, in nanoseconds since 1970; 0 if not given. */
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

/** An error that occurs only on some spans. */
export const failsOnSpan = (reason: string): TraceQlError =>
  new TraceQlError(`${reason}: leave such spans out with a condition before it`)

/** A query is invalid, unsupported, or fails on a span. The message is for its author. */
export class TraceQlError extends Error {}
