import { sentSpan } from '../model/otlp/outgoing-records.ts'
import type { CausewayQueries, Pages, SentTrace, SpanHint, SpanTest } from '../model/queries.ts'
import { MIB, type UnixNanos } from '../model/time-and-size.ts'
import { SpanTests } from './span-test.ts'
import { conditionsOf, withLists } from './traceql/conditions.ts'
import { compileField, MatchingEffort, MAX_MATCHED_LENGTH } from './traceql/evaluate-field.ts'
import { factsOf, FetchPlan, type SpanView, type TraceFactsFound } from './traceql/fetch-plan.ts'
import { compilePipeline, type Spanset } from './traceql/pipeline.ts'
import { SpanReader } from './traceql/read-span.ts'
import { flipped } from './traceql/static-values.ts'
import {
  type Attribute,
  type Field,
  KINDS,
  type Operator,
  type Pipeline,
  type Spansets,
  type Stage,
  type Static,
  STATUSES,
} from './traceql/syntax.ts'
import type { StoredSpan, StoredTrace } from './traceql/trace-data.ts'

export interface TraceSearch {
  readonly pipeline: Pipeline
  /** Traces whose activity reaches into the time between these. */
  readonly fromNs?: UnixNanos
  readonly toNs?: UnixNanos
  readonly limit: number
  /** How many matching spans of each set are shown. */
  readonly spansPerTrace: number
}

export interface FoundTrace {
  readonly trace: StoredTrace
  readonly facts: TraceFactsFound
  /** What the pipeline finds in it, at least one span. */
  readonly sets: readonly Spanset[]
  /** What was read of a span for the answer alone. */
  readonly selected: (span: StoredSpan) => SpanView | undefined
}

/** The time limit of a search, and the largest trace that it examines. */
const MAX_MS = 30_000
const MAX_SPANS = 50_000
const MAX_BYTES = 64 * MIB

/** The effort of a search so far, and why it is incomplete. */
export class SearchEffort {
  readonly matching = new MatchingEffort()
  inspectedTraces = 0
  inspectedSpans = 0
  #spentMs = 0
  #sinceMs: number | undefined
  #large = 0
  readonly #leftOut = new Set<string>()
  readonly #nowMs: () => number
  readonly #bytesRead: () => number
  readonly #bytesBefore: number
  readonly #mostMs: number

  constructor(nowMs: () => number, bytesRead: () => number, mostMs = MAX_MS) {
    this.#mostMs = mostMs
    this.#nowMs = nowMs
    this.#bytesRead = bytesRead
    this.#bytesBefore = bytesRead()
  }

  /** Begins a turn. Only time within turns counts. */
  begin(): void {
    this.#sinceMs = this.#nowMs()
  }

  /** Ends a turn. True if it was the last. */
  end(): boolean {
    this.#spentMs += this.#nowMs() - (this.#sinceMs ?? this.#nowMs())
    return this.isOver
  }

  get isOver(): boolean {
    return this.#spentMs > this.#mostMs
  }

  /** Counts a trace that is too large to examine. */
  passOver(): void {
    this.#large++
  }

  /** Notes something left out; the reason says what to ask instead. */
  leaveOut(reason: string): void {
    this.#leftOut.add(reason)
  }

  get inspectedBytes(): number {
    return this.#bytesRead() - this.#bytesBefore
  }

  /** Why the answer may lack something; undefined for one that is complete. */
  get lacks(): string | undefined {
    const { passedOver } = this.matching
    const reasons = [
      this.isOver &&
        `it took longer than ${this.#mostMs / 1000} s, and only the newest were looked at: ask about a shorter time`,
      this.#large > 0 &&
        `${this.#large} traces have more than ${MAX_SPANS} spans or ${MAX_BYTES / MIB} MiB and were not looked into: ask for one by its id`,
      passedOver > 0 &&
        `${passedOver} texts were not matched with regular expressions: one may have ${MAX_MATCHED_LENGTH} characters, and all ` +
          'of a span cost no more than a large expression on such a text: write a smaller one, or ask for fewer spans',
      ...this.#leftOut,
    ].filter((reason) => reason !== false)
    return reasons.length === 0 ? undefined : reasons.join('; ')
  }
}

/** Runs a pipeline over all traces that were sent in a time. */
export class TraceLook {
  readonly #queries: CausewayQueries
  readonly #search: Omit<TraceSearch, 'limit' | 'spansPerTrace'>
  readonly #effort: SearchEffort
  readonly #plan: FetchPlan
  readonly #answerPlan: FetchPlan | undefined
  readonly #run: ReturnType<typeof compilePipeline>
  readonly #reader: SpanReader

  constructor(
    queries: CausewayQueries,
    search: Omit<TraceSearch, 'limit' | 'spansPerTrace'>,
    effort: SearchEffort,
    also: readonly Attribute[] | 'all' = [],
    readsAll = also === 'all',
  ) {
    this.#queries = queries
    this.#search = search
    this.#effort = effort
    const pipeline = withLists(search.pipeline)
    const conditions = conditionsOf(pipeline)
    const selected = [...conditions.selected, ...(also === 'all' ? [] : also)]
    this.#plan = new FetchPlan(conditions, effort.matching)
    const list = selected.map((attribute) => ({ attribute, operator: 'any' as const }))
    this.#answerPlan =
      list.length === 0
        ? undefined
        : new FetchPlan({ list, all: false, selected: [], relates: false }, effort.matching, true)
    this.#run = compilePipeline(pipeline, effort.matching)
    const wanted = new Set([
      ...conditions.list.map(({ attribute }) => attribute.name),
      ...selected.map(({ name }) => name),
    ])
    this.#reader = new SpanReader((scope) => queries.envelopes(scope), readsAll ? undefined : wanted)
  }

  /** The traces that Causeway made of cascades, and then those that it passed on; the newest first. Undefined where others may take a turn. */
  *sources(): Generator<Generator<FoundTrace | undefined>> {
    const { fromNs, toNs, pipeline } = this.#search
    const range = { ...(fromNs !== undefined && { fromNs }), ...(toNs !== undefined && { toNs }) }
    const hinted = fieldNeeded(pipeline, (field) => hintOfField(field) !== undefined)
    const hint = hinted && hintOfField(hinted)
    const test = this.#testOf(pipeline)
    yield this.#foundIn(this.#queries.tracesOfCascades(range, hint, test))
    yield this.#foundIn(this.#queries.tracesForwarded(range, hint, test))
  }

  /** Counts the spans that need not be read. */
  #testOf(pipeline: Pipeline): SpanTest | undefined {
    const tests = new SpanTests(pipeline, (scope) => this.#reader.scopeOf(scope))
    const tested = fieldNeeded(pipeline, (field) => tests.of(field) !== undefined)
    const test = tested && tests.of(tested)
    if (test === undefined) return undefined
    return (bytes, start, end, scope) => {
      if (test(bytes, start, end, scope)) return true
      this.#effort.inspectedSpans++
      return false
    }
  }

  *#foundIn(pages: Pages<SentTrace>): Generator<FoundTrace | undefined> {
    for (const page of pages) {
      yield undefined
      for (const sent of page) {
        const trace = yield* this.#traceOf(sent)
        const found = trace && (yield* this.#foundOf(trace))
        if (found !== undefined) yield found
      }
    }
  }

  /** Undefined if it is skipped or has no span. */
  *#traceOf(sent: SentTrace): Generator<undefined, StoredTrace | undefined> {
    const spans: StoredSpan[] = []
    let [pages, length] = [0, 0]
    for (const page of sent.items()) {
      if (pages++ > 0) yield undefined
      for (const item of page) {
        const bytes = sentSpan(item)
        const span = bytes && this.#reader.read(bytes, item.scope)
        if (span === undefined) continue
        spans.push(span)
        length += bytes?.length ?? 0
      }
      if (spans.length > MAX_SPANS || length > MAX_BYTES) {
        this.#effort.passOver()
        return undefined
      }
    }
    this.#effort.inspectedTraces++
    this.#effort.inspectedSpans += spans.length
    return spans.length === 0 ? undefined : { traceId: sent.traceId.toString('hex'), spans: byScope(spans) }
  }

  *#foundOf(trace: StoredTrace): Generator<undefined, FoundTrace | undefined> {
    const facts = factsOf(trace)
    const { fromNs, toNs } = this.#search
    if ((fromNs !== undefined && facts.endNs < fromNs) || (toNs !== undefined && facts.startNs > toNs))
      return undefined
    const spans = yield* this.#plan.spansOf(trace)
    if (spans.length === 0) return undefined
    const sets = (yield* this.#run([{ spans, attributes: [] }])).filter((set) => set.spans.length > 0)
    if (sets.length === 0) return undefined
    const selected = this.#answerPlan && (yield* this.#answerPlan.spansOf(trace))
    const views = new Map((selected ?? []).map((view) => [view.stored, view]))
    return { trace, facts, sets, selected: (span) => views.get(span) }
  }
}

/** As they would come together in one request: by resource, and then by scope, in the order in which these come up. */
function byScope(spans: StoredSpan[]): readonly StoredSpan[] {
  const [resources, scopes] = [new Map<number, number>(), new Map<unknown, number>()]
  for (const { scope } of spans) {
    if (!resources.has(scope.resourceId)) resources.set(scope.resourceId, resources.size)
    if (!scopes.has(scope)) scopes.set(scope, scopes.size)
  }
  if (scopes.size < 2) return spans
  const rank = ({ scope }: StoredSpan): number =>
    (resources.get(scope.resourceId) ?? 0) * scopes.size + (scopes.get(scope) ?? 0)
  return spans.toSorted((a, b) => rank(a) - rank(b))
}

/** The newest traces that a pipeline finds, each as `show` makes it; an empty piece of an answer where others may take a turn. */
export function* findTraces<T>(
  queries: CausewayQueries,
  search: TraceSearch,
  effort: SearchEffort,
  show: (found: FoundTrace) => T,
): Generator<string, T[]> {
  const all: { startNs: bigint; shown: T }[] = []
  for (const source of new TraceLook(queries, search, effort).sources()) {
    effort.begin()
    let count = 0
    for (const found of source) {
      if (found === undefined) {
        if (effort.end()) break
        yield ''
        effort.begin()
      } else {
        all.push({ startNs: found.facts.startNs, shown: show(found) })
        if (++count >= search.limit) break
      }
    }
    effort.end()
  }
  all.sort((a, b) => (a.startNs > b.startNs ? -1 : 1))
  return all.slice(0, search.limit).map(({ shown }) => shown)
}

/** The longest name that is indexed, in bytes. */
const LONGEST_NAME = 4_096

/**
 * A condition that at least one span of every trace meets that a pipeline can find, made of filters that are useful. Undefined if there is
 * none.
 */
function fieldNeeded({ stages }: Pipeline, isUseful: (field: Field) => boolean): Field | undefined {
  for (const stage of stages) {
    const field = neededBy(stage, isUseful)
    if (field !== undefined) return field
  }
  return undefined
}

function neededBy(stage: Stage, isUseful: (field: Field) => boolean): Field | undefined {
  switch (stage.kind) {
    case 'filter':
      return isUseful(stage.field) ? stage.field : undefined
    case 'pipeline':
      return fieldNeeded(stage, isUseful)
    case 'logic':
    case 'relation':
      return neededByTwo(stage, isUseful)
    case 'by':
    case 'scalarFilter':
    case 'coalesce':
    case 'select':
    case 'aggregate':
      return undefined
  }
}

/** A matching trace has spans of both sides, or of one of them. If of both, the condition of one side is enough. */
function neededByTwo(
  sets: Extract<Spansets, { kind: 'logic' | 'relation' }>,
  isUseful: (field: Field) => boolean,
): Field | undefined {
  const [left, right] = [neededBy(sets.left, isUseful), neededBy(sets.right, isUseful)]
  if (sets.kind === 'relation' && sets.of === 'none') return right
  if (sets.kind === 'relation' || sets.operator === '&&') return right ?? left
  if (left === undefined || right === undefined) return undefined
  return { kind: 'binary', operator: '||', left, right }
}

function hintOfField(field: Field): SpanHint | undefined {
  if (field.kind === 'unary')
    return field.operator === 'exists' && field.of.kind === 'attribute' ? hasKey(field.of) : undefined
  if (field.kind === 'attribute') return hasKey(field)
  if (field.kind !== 'binary') return undefined
  const { operator, left, right } = field
  if (operator === '&&' || operator === '||') {
    const of = [hintOfField(left), hintOfField(right)]
    const known = of.filter((hint) => hint !== undefined)
    if (operator === '&&') return known.length > 1 ? { kind: 'and', of: known } : known[0]
    return known.length === of.length ? { kind: 'or', of: known } : undefined
  }
  if (left.kind === 'attribute' && right.kind === 'static')
    return hintOfComparison(left, operator, right.value)
  if (left.kind === 'static' && right.kind === 'attribute')
    return hintOfComparison(right, flipped(operator), left.value)
  return undefined
}

function hintOfComparison(attribute: Attribute, operator: Operator, value: Static): SpanHint | undefined {
  if (COMPARES_TEXTS.has(operator) && value.type === 'string') {
    if (attribute.scope === 'intrinsic' && attribute.name === 'name')
      return { kind: 'names', accepts: acceptsText(attribute, operator, value) }
    if (attribute.scope === 'resource' && attribute.name === 'service.name')
      return { kind: 'services', accepts: acceptsText(attribute, operator, value) }
  }
  if (attribute.scope === 'intrinsic') return hintOfIntrinsic(attribute, operator, value)
  if (operator === '=' && value.type === 'string' && value.value !== '') return holds(attribute, value.value)
  if (operator === 'reads' && value.type === 'string' && Number.isNaN(Number(value.value)))
    return value.value === 'true' || value.value === 'false' ? undefined : holds(attribute, value.value)
  return operator === 'reads' || operator === 'contains' ? undefined : hasKey(attribute)
}

const COMPARES_TEXTS: ReadonlySet<Operator> = new Set(['!=', '>', '>=', '<', '<=', '=~', '!~'])

/** Whether a text may meet a comparison. An empty one, one that may be cut, and one that is not matched for its length may. */
function acceptsText(attribute: Attribute, operator: Operator, value: Static): (text: string) => boolean {
  const effort = new MatchingEffort()
  const right: Field = { kind: 'static', value }
  const meets = compileField({ kind: 'binary', operator, left: attribute, right }, effort)
  return (text) => {
    if (text === '' || Buffer.byteLength(text) >= LONGEST_NAME) return true
    effort.next()
    const { passedOver } = effort
    const met = meets({ valueOf: () => ({ type: 'string', value: text }) })
    return (met.type === 'boolean' && met.value) || effort.passedOver > passedOver
  }
}

function hintOfIntrinsic({ name }: Attribute, operator: Operator, value: Static): SpanHint | undefined {
  if (name === 'duration' && (value.type === 'duration' || value.type === 'int'))
    return operator === '=' || operator === '>' || operator === '>=' || operator === '<' || operator === '<='
      ? { kind: 'duration', operator, value: value.value }
      : undefined
  if (operator !== '=') return undefined
  if (name === 'kind' && value.type === 'kind') return { kind: 'kind', value: KINDS.indexOf(value.value) }
  if (name === 'status' && value.type === 'status' && value.value !== 'unset')
    return { kind: 'status', value: STATUSES.indexOf(value.value) }
  if (value.type !== 'string' || value.value === '') return undefined
  if (name === 'name')
    return Buffer.byteLength(value.value) < LONGEST_NAME ? { kind: 'name', value: value.value } : undefined
  if (name === 'statusMessage' || name === 'event:name') return { kind: 'holds', text: value.value }
  return name.startsWith('instrumentation:') ? { kind: 'scope', text: value.value } : undefined
}

function hasKey(attribute: Attribute): SpanHint | undefined {
  const { scope, name } = attribute
  // A sender without a service name has an empty one.
  const isService = name === 'service.name' && (scope === 'resource' || scope === 'any')
  return scope === 'intrinsic' || name === '' || isService ? undefined : holds(attribute, name)
}

/**
 * Whether the stored bytes contain the text of an attribute. Attributes that Causeway adds when it sends a span are not in the stored
 * bytes: no hint for those.
 */
function holds({ scope, name }: Attribute, text: string): SpanHint | undefined {
  const isAdded = name.startsWith('cpid.')
  switch (scope) {
    case 'resource':
      return name === 'service.name' && text !== name
        ? Buffer.byteLength(text) < LONGEST_NAME
          ? { kind: 'service', value: text }
          : undefined
        : { kind: 'resource', text }
    case 'instrumentation':
      return { kind: 'scope', text }
    case 'any':
      return isAdded
        ? undefined
        : {
            kind: 'or',
            of: [
              { kind: 'holds', text },
              { kind: 'resource', text },
            ],
          }
    case 'span':
    case 'event':
    case 'link':
    case 'intrinsic':
      return isAdded ? undefined : { kind: 'holds', text }
  }
}
