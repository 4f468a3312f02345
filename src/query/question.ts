import type { Cpid } from '../model/merge-graph.ts'
import type { CascadeFilter, SentTraceRange } from '../model/queries.ts'
import type { GrpcShape } from './grpc-answers.ts'
import type { JaegerMetricsAsked } from './jaeger-metrics-json.ts'
import type { MetricsAsked } from './tempo-metrics-json.ts'
import type { TraceDiffAsked } from './trace-diff-json.ts'
import type { NamesAsked, OperationsAsked } from './trace-names-json.ts'
import type { TraceSearch } from './trace-search.ts'

/** Which part of a list is asked for: at most `limit` items (all without one) after a cursor. */
export interface PageRequest {
  readonly limit?: number | undefined
  readonly after?: string | undefined
}

/** Every question, over HTTP or on the command line. Plain data, since it is posted to threads. */
export type Question =
  | { readonly kind: 'cpid' | 'related' | 'ancestors' | 'roots'; readonly cpid: Cpid }
  /** Those of the CPIDs related to one, or all. */
  | { readonly kind: 'mergelogs' | 'spans' | 'logs'; readonly cpid?: Cpid; readonly part: PageRequest }
  | { readonly kind: 'cascades'; readonly filter: CascadeFilter; readonly part: PageRequest }
  | { readonly kind: 'cascade'; readonly root: Cpid }
  | { readonly kind: 'cascadesOf'; readonly cpid: Cpid; readonly part: PageRequest }
  | { readonly kind: 'compare'; readonly a: Cpid; readonly b: Cpid }
  /** A span of a cascade, by its 16 hex digits and optionally the 32 of a trace. */
  | {
      readonly kind: 'span'
      readonly root: Cpid
      readonly spanId: string
      readonly traceId?: string | undefined
    }
  | { readonly kind: 'graph'; readonly cpid: Cpid; readonly limit: number }
  | { readonly kind: 'objects' | 'objectVersions'; readonly ref: string; readonly part: PageRequest }
  | { readonly kind: 'touchedObjects'; readonly root: Cpid; readonly limit: number }
  /** Which spans of a cascade contain a text; at most `limit`. */
  | { readonly kind: 'matchingSpans'; readonly root: Cpid; readonly contains: string; readonly limit: number }
  | PodStatsQuestion
  | { readonly kind: 'why'; readonly ref: string }
  | {
      readonly kind: 'find'
      readonly text: string
      readonly limit: number
      readonly filter?: FindFilter
    }
  | { readonly kind: 'facets' }
  | TraceQuestion
  /** The same, answered in gRPC's frames; see grpc-answers.ts. */
  | { readonly kind: 'grpc'; readonly question: TraceQuestion; readonly as: GrpcShape }

/** What was measured of the Pods of a cascade; an archive has nothing of it. */
interface PodStatsQuestion {
  readonly kind: 'podStats'
  readonly root: Cpid
  readonly limit: number
}

/** Filters of a find: for cascades both, for objects their namespace and the cascades that touched them. */
export type FindFilter = Pick<CascadeFilter, 'actor' | 'namespace'>

/**
 * Why a question has no answer. `badCursor`: `after` is no cursor of that list. `archiveSilent`: only an archive may know. `archived`: an
 * archive knows of it, but has not what is asked for.
 */
export type NoAnswer =
  'unknown' | 'pruned' | 'badCursor' | 'unknownSpan' | 'unknownTrace' | 'archiveSilent' | 'archived'

/** In which form a trace is answered. */
export type TraceShape =
  'jaeger' | 'jaegerV3' | 'jaegerStorage' | 'tempoProtobuf' | 'tempoProtobufV2' | 'tempoJson' | 'tempoJsonV2'

/** Questions of Jaeger and Tempo clients. */
export type TraceQuestion =
  /** An outgoing trace, by its 32 hex digits. */
  | { readonly kind: 'sentTrace'; readonly traceId: string; readonly shape: TraceShape }
  /** Those that Jaeger's page compares; what is not there is said beside the others. */
  | { readonly kind: 'sentTraces'; readonly traceIds: readonly string[] }
  | ({ readonly kind: 'traceDiff' } & TraceDiffAsked)
  | {
      readonly kind: 'searchTraces'
      readonly search: TraceSearch
      readonly shape: 'jaeger' | 'jaegerV3' | 'jaegerStorage' | 'jaegerIds' | 'jaegerSummaries' | 'tempo'
    }
  | { readonly kind: 'services'; readonly version: 1 | 3 }
  | ({ readonly kind: 'operations' } & OperationsAsked)
  | ({ readonly kind: 'metrics' } & MetricsAsked)
  | ({ readonly kind: 'jaegerMetrics' } & JaegerMetricsAsked)
  /** With a service, of its calls alone. */
  | ({ readonly kind: 'dependencies'; readonly service?: string } & SentTraceRange)
  | ({ readonly kind: 'tags'; readonly scope?: string } & NamesAsked)
  | ({ readonly kind: 'tagValues'; readonly tag: string } & NamesAsked)

/** The questions of Jaeger's and Tempo's clients are about what this Causeway sent; what is measured of Pods is not archived. */
export type ArchivedQuestion = Exclude<Question, TraceQuestion | PodStatsQuestion | { readonly kind: 'grpc' }>

const ONLY_SENT: Readonly<Record<Exclude<Question, ArchivedQuestion>['kind'], true>> = {
  ...{
    sentTrace: true,
    sentTraces: true,
    traceDiff: true,
    searchTraces: true,
    services: true,
    operations: true,
    metrics: true,
  },
  ...{ jaegerMetrics: true, dependencies: true, tags: true, tagValues: true, grpc: true, podStats: true },
}

/** Whether a question also goes to the archive, if there is one. */
export function isArchived(question: Question): question is ArchivedQuestion {
  return !Object.hasOwn(ONLY_SENT, question.kind)
}

/** Their pieces have one character a byte. */
export function isBinary(shape: TraceShape): boolean {
  return shape === 'tempoProtobuf' || shape === 'tempoProtobufV2'
}

/** The client: one connection of an address. */
export interface Asker {
  readonly address: string
  /** The same number for every question of one connection. */
  readonly connection: number
}

/**
 * The answer to a question: its JSON text in chunks, or why there is none. An `etag`, as HTTP writes it, changes when
 * the text does; without one it is not known whether it did. `notModified`: the caller has it already.
 */
export type Reply =
  | { kind: 'found'; text: AnswerText; etag: string | undefined }
  | { kind: 'notModified'; etag: string }
  | { kind: NoAnswer }

/**
 * JSON text that is made as it is read, once. Call `cancel` to stop before the end, or before the beginning; leaving a loop does so
 * by itself. Reading rejects when making the text failed.
 */
export interface AnswerText extends AsyncIterable<string> {
  /** The whole text, if it is short and already made. */
  readonly whole?: string
  cancel(): void
}

/** A question that cannot be answered as it is asked. The message says why, and what to ask instead. */
export class BadQuestion extends Error {}

/** The answer was ended because it was not read and others waited for its memory. */
export class UnreadAnswer extends Error {
  constructor() {
    super('nobody read the answer')
  }
}

/** Answers questions in another thread. Rejects when that thread ended or failed. */
export interface QueryService {
  /**
   * `known`: the etags of answers that the caller has. When `gone` aborts, the question is cancelled and the promise rejects. `asker`
   * is the client: one that asks much delays only itself.
   */
  ask(question: Question, known?: readonly string[], gone?: AbortSignal, asker?: Asker): Promise<Reply>
}
