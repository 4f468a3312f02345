import type { Cpid } from '../model/merge-graph.ts'
import type { CascadeFilter, SentTraceRange } from '../model/queries.ts'
import type { GrpcShape } from './grpc-answers.ts'
import type { JaegerMetricsAsked } from './jaeger-metrics-json.ts'
import type { MetricsAsked } from './tempo-metrics-json.ts'
import type { TraceDiffAsked } from './trace-diff-json.ts'
import type { NamesAsked, OperationsAsked } from './trace-names-json.ts'
import type { TraceSearch } from './trace-search.ts'

/** A page of a list: at most `limit` items (all if undefined) after the cursor `after`. */
export interface PageRequest {
  readonly limit?: number | undefined
  readonly after?: string | undefined
}

/** Every question, over HTTP or on the command line. Plain data, since it is posted to threads. */
export type Question =
  | { readonly kind: 'cpid' | 'related' | 'ancestors' | 'roots'; readonly cpid: Cpid }
  /** The records of all CPIDs related to `cpid`; without one, all records. */
  | { readonly kind: 'mergelogs' | 'spans' | 'logs'; readonly cpid?: Cpid; readonly part: PageRequest }
  | { readonly kind: 'cascades'; readonly filter: CascadeFilter; readonly part: PageRequest }
  | { readonly kind: 'cascade'; readonly root: Cpid }
  | { readonly kind: 'cascadesOf'; readonly cpid: Cpid; readonly part: PageRequest }
  | { readonly kind: 'compare'; readonly a: Cpid; readonly b: Cpid }
  /** A span of a cascade, by span id (16 hex digits) and optionally trace id (32). */
  | {
      readonly kind: 'span'
      readonly root: Cpid
      readonly spanId: string
      readonly traceId?: string | undefined
    }
  | { readonly kind: 'graph'; readonly cpid: Cpid; readonly limit: number }
  | { readonly kind: 'objects' | 'objectVersions'; readonly ref: string; readonly part: PageRequest }
  | { readonly kind: 'touchedObjects'; readonly root: Cpid; readonly limit: number }
  /** The spans of a cascade that contain a text, at most `limit`. */
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
  /** A question of a Jaeger or Tempo client whose answer is written as gRPC frames; see grpc-answers.ts. */
  | { readonly kind: 'grpc'; readonly question: TraceQuestion; readonly as: GrpcShape }

/** The metrics of the Pods of a cascade. An archive does not have them. */
interface PodStatsQuestion {
  readonly kind: 'podStats'
  readonly root: Cpid
  readonly limit: number
}

/** Filters of a search. Cascades have to meet both; objects have to be in the namespace, and in a cascade of the actor. */
export type FindFilter = Pick<CascadeFilter, 'actor' | 'namespace'>

/**
 * Why a question has no answer. `badCursor`: `after` is not a cursor of this list. `archiveSilent`: the archive, which may know the answer,
 * is unreachable. `archived`: the archive knows the CPID or cascade, but does not keep what was asked for.
 */
export type NoAnswer =
  'unknown' | 'pruned' | 'badCursor' | 'unknownSpan' | 'unknownTrace' | 'archiveSilent' | 'archived'

/** The format of a trace in an answer. */
export type TraceShape =
  'jaeger' | 'jaegerV3' | 'jaegerStorage' | 'tempoProtobuf' | 'tempoProtobufV2' | 'tempoJson' | 'tempoJsonV2'

/** Questions of Jaeger and Tempo clients. */
export type TraceQuestion =
  /** A trace that was sent, by id (32 hex digits). */
  | { readonly kind: 'sentTrace'; readonly traceId: string; readonly shape: TraceShape }
  /** The traces that Jaeger's UI compares. Unknown ones are listed in `errors`. */
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
  /** With `service`, only calls from or to it. */
  | ({ readonly kind: 'dependencies'; readonly service?: string } & SentTraceRange)
  | ({ readonly kind: 'tags'; readonly scope?: string } & NamesAsked)
  | ({ readonly kind: 'tagValues'; readonly tag: string } & NamesAsked)

/** Questions that an archive can answer. It has neither traces as they were sent nor metrics of Pods. */
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

/** Whether a question also goes to the archive, if one is configured. */
export function isArchived(question: Question): question is ArchivedQuestion {
  return !Object.hasOwn(ONLY_SENT, question.kind)
}

/** Whether answers of this format are bytes: each character of a piece is one byte. */
export function isBinary(shape: TraceShape): boolean {
  return shape === 'tempoProtobuf' || shape === 'tempoProtobufV2'
}

/** A client: an address, and one connection from it. */
export interface Asker {
  readonly address: string
  /** Identifies the connection: the same for all its questions. */
  readonly connection: number
}

/**
 * The answer to a question: its JSON text, or why there is none. `etag`, written as in HTTP, changes when the text does; undefined if that
 * cannot be known. `notModified`: an etag of `known` is current.
 */
export type Reply =
  | { kind: 'found'; text: AnswerText; etag: string | undefined }
  | { kind: 'notModified'; etag: string }
  | { kind: NoAnswer }

/**
 * JSON text that is made while it is read; it can be read once. Call `cancel` to stop making it, also before reading begins; leaving a `for
 * await` loop early does the same. Reading rejects if making the text failed.
 */
export interface AnswerText extends AsyncIterable<string> {
  /** The whole text, if it is short and finished. */
  readonly whole?: string
  cancel(): void
}

/** A question that cannot be answered in this form. The message says why, and what to ask instead. */
export class BadQuestion extends Error {}

/** The answer was ended because the client did not read it and other answers needed its memory. */
export class UnreadAnswer extends Error {
  constructor() {
    super('nobody read the answer')
  }
}

/** Answers questions in another thread. Rejects if that thread ended or failed. */
export interface QueryService {
  /**
   * `known`: etags of answers that the client has cached. When `gone` aborts, the question is cancelled and the promise rejects. `asker`:
   * the client, among which turns are shared fairly.
   */
  ask(question: Question, known?: readonly string[], gone?: AbortSignal, asker?: Asker): Promise<Reply>
}
