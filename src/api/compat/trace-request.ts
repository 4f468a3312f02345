import type { TraceQuestion } from '../../query/traces/trace-question.ts'

/** Whose way of answering: Jaeger's older and newer API, Tempo's. */
export type Dialect = 'jaeger' | 'jaegerV3' | 'tempo'

/** What a client of Jaeger or Tempo wants. */
export type TraceRequest =
  | { readonly kind: 'question'; readonly question: TraceQuestion; readonly dialect: Dialect }
  | { readonly kind: 'fixed'; readonly text: string; readonly type: string }
  | TraceRefusal

export interface TraceRefusal {
  readonly kind: 'refused'
  readonly status: number
  readonly message: string
  readonly dialect: Dialect
}

export function refused(dialect: Dialect, message: string, status = 400): TraceRefusal {
  return { kind: 'refused', status, message, dialect }
}

/** A refusal as the client's own backend would write it. */
export function refusalText({ dialect, message, status }: TraceRefusal): { type: string; text: string } {
  switch (dialect) {
    case 'jaeger': {
      const errors = [{ code: status, msg: message }]
      return {
        type: JSON_TYPE,
        text: JSON.stringify({ data: null, total: 0, limit: 0, offset: 0, errors }),
      }
    }
    case 'jaegerV3':
      return { type: JSON_TYPE, text: JSON.stringify({ error: { httpCode: status, message } }) }
    case 'tempo':
      return { type: 'text/plain; charset=utf-8', text: message }
  }
}

export const JSON_TYPE = 'application/json'
