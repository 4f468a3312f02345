import { ADDED_ATTRIBUTES, sentSpan } from '../model/otlp/outgoing-records.ts'
import { WireCursor } from '../model/otlp/protobuf-wire.ts'
import type {
  CausewayQueries,
  Pages,
  SentSpan,
  SentTrace,
  SentTraceRange,
  SpanHint,
  SpanTest,
} from '../model/queries.ts'
import { MIB, type UnixNanos } from '../model/time-and-size.ts'
import { fieldNeeded, hintOfField } from './span-hints.ts'
import { SpanTests } from './span-test.ts'
import { conditionsOf, withLists } from './traceql/conditions.ts'
import { MatchingEffort, MAX_MATCHED_LENGTH } from './traceql/evaluate-field.ts'
import { factsOf, FetchPlan, type SpanView, type TraceFactsFound } from './traceql/fetch-plan.ts'
import { compilePipeline, type Spanset } from './traceql/pipeline.ts'
import { SpanReader } from './traceql/read-span.ts'
import type { Attribute, Field, IntrinsicName, Pipeline } from './traceql/syntax.ts'
import type { StoredScope, StoredSpan, StoredTrace } from './traceql/trace-data.ts'

export interface TraceSearch {
  readonly pipeline: Pipeline
  /** The time range. Traces with activity in it are searched. */
  readonly fromNs?: UnixNanos
  readonly toNs?: UnixNanos
  readonly limit: number
  /** The most spans of each set in the answer. */
  readonly spansPerTrace: number
}

export interface FoundTrace {
  readonly trace: StoredTrace
  readonly facts: TraceFactsFound
  /** The spansets that the pipeline finds in the trace; each has at least one span. */
  readonly sets: readonly Spanset[]
  /** What was read of a span only for the answer. */
  readonly selected: (span: StoredSpan) => SpanView | undefined
}

/** A span that a pipeline finds: `view` is what the pipeline read of it, `read` what the answer needs. */
export interface FoundSpan {
  readonly view: SpanView
  readonly read: SpanView
  readonly traceId: () => string
}

/** The time limit of a search in milliseconds, and the largest trace that it examines. */
const MAX_MS = 30_000
const MAX_SPANS = 50_000
const MAX_BYTES = 64 * MIB
/** The most characters of names and values in an answer, since it is built in memory. */
const MAX_SHOWN = 16 * MIB

/** The effort of a search so far, and why it is incomplete. */
export class SearchEffort {
  readonly matching = new MatchingEffort()
  inspectedTraces = 0
  inspectedSpans = 0
  #spentMs = 0
  #sinceMs: number | undefined
  #large = 0
  #shown = 0
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

  /** Starts the clock of a turn. Only time within turns counts. */
  begin(): void {
    this.#sinceMs = this.#nowMs()
  }

  /** Stops the clock of a turn. Returns true if the time limit is exceeded. */
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

  /** Notes that the answer is incomplete. `reason` says what to ask instead. */
  leaveOut(reason: string): void {
    this.#leftOut.add(reason)
  }

  /** Adds to the length of the answer, and returns true, if the limit allows it; otherwise notes that the answer is incomplete. */
  hasRoomFor(length: number): boolean {
    if (this.#shown + length <= MAX_SHOWN) {
      this.#shown += length
      return true
    }
    this.leaveOut(
      `no more than ${MAX_SHOWN / MIB} MiB of names and values are shown: ask for fewer traces, spans or attributes`,
    )
    return false
  }

  get inspectedBytes(): number {
    return this.#bytesRead() - this.#bytesBefore
  }

  /** Why the answer may be incomplete; undefined if it is complete. */
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

/** Runs a pipeline over all traces that were sent in a time range. */
export class TraceScan {
  readonly #queries: CausewayQueries
  readonly #search: Omit<TraceSearch, 'limit' | 'spansPerTrace'>
  readonly #effort: SearchEffort
  readonly #plan: FetchPlan
  readonly #answerPlan: FetchPlan | undefined
  readonly #run: ReturnType<typeof compilePipeline>
  readonly #reader: SpanReader
  readonly #looksAtSpans: boolean

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
    this.#looksAtSpans =
      also !== 'all' &&
      pipeline.stages.every(({ kind }) => kind === 'filter') &&
      [...conditions.list.map(({ attribute }) => attribute), ...selected].every(isStored)
    this.#reader = new SpanReader((scope) => queries.envelopes(scope), readsAll ? undefined : wanted)
  }

  /** Matching traces, newest first: of cascades, then those passed through. Yields undefined when others may take a turn. */
  *sources(): Generator<Generator<FoundTrace | undefined>> {
    const range = this.#range()
    const { hint, test } = this.#ofOneSpan()
    yield this.#foundIn(this.#queries.tracesOfCascades(range, hint, test))
    yield this.#foundIn(this.#queries.tracesForwarded(range, hint, test))
  }

  #range(): SentTraceRange {
    const { fromNs, toNs } = this.#search
    return { ...(fromNs !== undefined && { fromNs }), ...(toNs !== undefined && { toNs }) }
  }

  /** A hint and a test that the same span meets in every matching trace. */
  #ofOneSpan(): { hint: SpanHint | undefined; test: SpanTest | undefined } {
    const tests = this.#tests()
    const hasHint = (field: Field): boolean => hintOfField(field) !== undefined
    const hasTest = (field: Field): boolean => tests.of(field) !== undefined
    const { pipeline } = this.#search
    const field =
      fieldNeeded(pipeline, (one) => hasHint(one) && hasTest(one)) ??
      fieldNeeded(pipeline, hasHint) ??
      fieldNeeded(pipeline, hasTest)
    return { hint: field && hintOfField(field), test: field && this.#counting(tests.of(field)) }
  }

  /** The hint for searches for single spans. */
  #hint(): SpanHint | undefined {
    const hinted = fieldNeeded(this.#search.pipeline, (field) => hintOfField(field) !== undefined)
    return hinted && hintOfField(hinted)
  }

  /**
   * The spans that the pipeline finds, read without their traces. Undefined if the pipeline needs more of a trace than single spans. An
   * empty list means that others may take a turn.
   */
  spans(): Generator<readonly FoundSpan[]> | undefined {
    return this.#looksAtSpans ? this.#foundSpans() : undefined
  }

  *#foundSpans(): Generator<readonly FoundSpan[]> {
    const tests = this.#tests()
    const tested = fieldNeeded(this.#search.pipeline, (field) => tests.of(field) !== undefined)
    const test = tested && this.#counting(tests.of(tested))
    const traceIds = new Map<number, string>()
    const traceIdOf = (sent: SentSpan | undefined): string => {
      if (sent === undefined) return ''
      if (sent.trace === 0) return traceIdIn(sent)
      const traceId = traceIds.get(sent.trace) ?? this.#queries.traceId(sent.trace)?.toString('hex') ?? ''
      traceIds.set(sent.trace, traceId)
      return traceId
    }
    for (const page of this.#queries.spansSent(this.#range(), this.#hint())) {
      yield []
      const spans: SpanView[] = []
      const sentAs = new Map<SpanView, SentSpan>()
      for (const sent of page) {
        const { bytes, start, end, scope } = sent
        if (test?.(bytes, start, end, scope) === false) continue
        this.#effort.inspectedSpans++
        if (this.#effort.matching.next()) yield []
        const span = this.#reader.read(bytes, scope, start, end)
        const view = span && this.#plan.viewOf(span)
        if (view === undefined) continue
        spans.push(view)
        sentAs.set(view, sent)
      }
      if (spans.length === 0) continue
      const running = this.#run([{ spans, attributes: [] }])
      let turn = running.next()
      for (; turn.done !== true; turn = running.next()) yield []
      const found = turn.value.flatMap((set) => set.spans)
      yield found.map((view) => ({
        view,
        read: this.#answerPlan?.viewOf(view.stored) ?? view,
        traceId: () => traceIdOf(sentAs.get(view)),
      }))
    }
  }

  #tests(): SpanTests {
    return new SpanTests(this.#search.pipeline, (scope) => this.#reader.scopeOf(scope))
  }

  /** Wraps a test so that spans it rejects count as inspected. */
  #counting(test: SpanTest | undefined): SpanTest | undefined {
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

  /** Reads a trace; undefined if it is skipped or has no spans. */
  *#traceOf(sent: SentTrace): Generator<undefined, StoredTrace | undefined> {
    const spans: StoredSpan[] = []
    const scopes = new Set<StoredScope>()
    let [pages, length] = [0, 0]
    for (const page of sent.items()) {
      if (pages++ > 0) yield undefined
      for (const item of page) {
        const bytes = sentSpan(item)
        const span = bytes && this.#reader.read(bytes, item.scope)
        if (span === undefined) continue
        spans.push(span)
        length += bytes?.length ?? 0
        if (!scopes.has(span.scope)) length += span.scope.bytes
        scopes.add(span.scope)
        if (spans.length <= MAX_SPANS && length <= MAX_BYTES) continue
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

/** Whether the sent attribute is the stored one, whatever trace the span was sent into. */
function isStored({ scope, name }: Attribute): boolean {
  if (scope === 'intrinsic') return OF_STORED_SPANS.has(name)
  return scope !== 'link' && !ADDED_ATTRIBUTES.has(name)
}

const OF_STORED_SPANS: ReadonlySet<string> = new Set<IntrinsicName>([
  ...(['start', 'duration', 'name', 'status', 'statusMessage', 'kind', 'span:id'] as const),
  ...(['event:name', 'event:timeSinceStart', 'instrumentation:name', 'instrumentation:version'] as const),
])

const TRACE_ID = 1

function traceIdIn({ bytes, start, end }: SentSpan): string {
  const cursor = new WireCursor(bytes, start, end)
  let traceId = ''
  while (cursor.next())
    if (cursor.field === TRACE_ID) traceId = bytes.toString('hex', cursor.start, cursor.end)
  return traceId
}

/** Orders spans by resource and scope, in the order in which these first occur, as in one OTLP request. */
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

/**
 * The newest matching traces, each as `show` makes it. Ends when `show` returns undefined, since the answer has no more room. Yields an
 * empty piece when others may take a turn.
 */
export function* findTraces<T>(
  queries: CausewayQueries,
  search: TraceSearch,
  effort: SearchEffort,
  show: (found: FoundTrace) => T | undefined,
): Generator<string, T[]> {
  const all: { startNs: bigint; shown: T }[] = []
  sources: for (const source of new TraceScan(queries, search, effort).sources()) {
    effort.begin()
    let count = 0
    for (const found of source) {
      if (found === undefined) {
        if (effort.end()) break
        yield ''
        effort.begin()
      } else {
        const shown = show(found)
        if (shown === undefined) break sources
        all.push({ startNs: found.facts.startNs, shown })
        if (++count >= search.limit) break
      }
    }
    effort.end()
  }
  all.sort((a, b) => (a.startNs > b.startNs ? -1 : 1))
  return all.slice(0, search.limit).map(({ shown }) => shown)
}
