import type { Cpid } from '../model/merge-graph.ts'
import type { CascadeFilter, SentTraceRange } from '../model/queries.ts'
import type { MetricsAsked } from './tempo-metrics-json.ts'
import type { NamesAsked, OperationsAsked } from './trace-names-json.ts'
import type { TraceSearch } from './trace-search.ts'

/** Which part of a list is asked for: at most `limit` items (all without one) after a cursor. */
export interface PageRequest {
  readonly limit?: number
  readonly after?: string
}

/** Everything that can be asked, over HTTP or on the command line. Plain data: it goes from thread to thread. */
export type Question =
  | { readonly kind: 'cpid' | 'related' | 'ancestors' | 'roots'; readonly cpid: Cpid }
  /** Those of the CPIDs related to one, or all there are. */
  | { readonly kind: 'mergelogs' | 'spans' | 'logs'; readonly cpid?: Cpid; readonly part: PageRequest }
  | { readonly kind: 'cascades'; readonly filter: CascadeFilter; readonly part: PageRequest }
  | { readonly kind: 'cascade'; readonly root: Cpid }
  | { readonly kind: 'cascadesOf'; readonly cpid: Cpid; readonly part: PageRequest }
  | { readonly kind: 'compare'; readonly a: Cpid; readonly b: Cpid }
  /** A span of a cascade, by its 16 hex digits, and the 32 of the trace in which it is meant. */
  | { readonly kind: 'span'; readonly root: Cpid; readonly spanId: string; readonly traceId?: string }
  | { readonly kind: 'graph'; readonly cpid: Cpid; readonly limit: number }
  | { readonly kind: 'objects' | 'objectVersions'; readonly ref: string; readonly part: PageRequest }
  | {
      readonly kind: 'find'
      readonly text: string
      readonly limit: number
      readonly filter?: FindFilter
    }
  | { readonly kind: 'facets' }
  | TraceQuestion

/** Narrows down what is found: cascades by both, objects by their namespace and by whether such a cascade touched them. */
export type FindFilter = Pick<CascadeFilter, 'actor' | 'namespace'>

/** Why a question has no answer. `badCursor`: `after` is no cursor of that list. */
export type NoAnswer = 'unknown' | 'pruned' | 'badCursor' | 'unknownSpan' | 'unknownTrace'

/** In which form a trace is answered. */
export type TraceShape =
  'jaeger' | 'jaegerV3' | 'tempoProtobuf' | 'tempoProtobufV2' | 'tempoJson' | 'tempoJsonV2'

/** What clients of Jaeger and Tempo ask. Plain data, as every question. */
export type TraceQuestion =
  /** An outgoing trace, by its 32 hex digits. */
  | { readonly kind: 'sentTrace'; readonly traceId: string; readonly shape: TraceShape }
  | {
      readonly kind: 'searchTraces'
      readonly search: TraceSearch
      readonly shape: 'jaeger' | 'jaegerV3' | 'jaegerSummaries' | 'tempo'
    }
  | { readonly kind: 'services'; readonly version: 1 | 3 }
  | ({ readonly kind: 'operations' } & OperationsAsked)
  | ({ readonly kind: 'metrics' } & MetricsAsked)
  /** With a service, of its calls alone. */
  | ({ readonly kind: 'dependencies'; readonly service?: string } & SentTraceRange)
  | ({ readonly kind: 'tags'; readonly scope?: string } & NamesAsked)
  | ({ readonly kind: 'tagValues'; readonly tag: string } & NamesAsked)

/** Pieces of these are texts with a character a byte. */
export function isBinary(shape: TraceShape): boolean {
  return shape === 'tempoProtobuf' || shape === 'tempoProtobufV2'
}

/** Who asks: one connection of an address. */
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
 * JSON text in the making, read once; what is not read is not made. Whoever stops reading before the end, or never
 * begins, calls `cancel`, which a loop that is left does by itself. Reading rejects when making it failed.
 */
export interface AnswerText extends AsyncIterable<string> {
  /** All of it, where it is short and made already. */
  readonly whole?: string
  cancel(): void
}

/** A question that cannot be answered as it is asked. The message says why, and what to ask instead. */
export class BadQuestion extends Error {}

/** The answer ended, since nobody read it and others waited for what it held. */
export class UnreadAnswer extends Error {
  constructor() {
    super('nobody read the answer')
  }
}

/** Answers questions, somewhere else. Rejects when whoever answers is gone or failed. */
export interface QueryService {
  /**
   * `known`: the etags of answers that the caller has. With `gone` the question is given up, and the promise rejects. `asker`
   * says who asks: who asks much waits for itself, and keeps nobody else waiting.
   */
  ask(question: Question, known?: readonly string[], gone?: AbortSignal, asker?: Asker): Promise<Reply>
}
