import type { TraceSearch } from './find-traces.ts'
import type { NamesAsked, OperationsAsked } from './names-json.ts'

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
  | ({ readonly kind: 'tags'; readonly scope?: string } & NamesAsked)
  | ({ readonly kind: 'tagValues'; readonly tag: string } & NamesAsked)

/** Pieces of these are texts with a character a byte. */
export function isBinary(shape: TraceShape): boolean {
  return shape === 'tempoProtobuf' || shape === 'tempoProtobufV2'
}
