export interface AnchorOrder {
  kind: 'send'
  endpoint: string
  seed: number
  changesPerSecond: number
  firstChange: number
  /** Of simulated time. */
  seconds: number
  /** Simulated seconds that go by in one second at most. */
  speed: number
  /** When the simulated time begins, Unix milliseconds. */
  beginsMs: number
  inFlight: number
  /** Keep when each span was acknowledged. */
  keepsTimes: boolean
}

export type FromAnchor =
  | { kind: 'ready' }
  | {
      kind: 'sent'
      /** Epoch milliseconds at which the last request of each simulated second was acknowledged. */
      secondsEndedMs: number[]
      startedMs: number
      latenciesMs: number[]
      requests: number
      cpuSeconds: number
      /**
       * Epoch milliseconds at which each span was acknowledged, and at which all that linking waits for was: what its
       * controllers did before it for the same change. In the order of span numbers; empty unless kept.
       */
      acknowledgedMs: number[]
      linkableMs: number[]
    }
  | { kind: 'failed'; reason: string }

export type ToAnchorSink =
  /** Say so once the spans with these numbers have come. */
  { kind: 'expect'; firstSpan: number; spans: number; keepsTimes: boolean } | { kind: 'count' }

export type FromAnchorSink =
  | { kind: 'ready'; port: number }
  | { kind: 'reached'; atMs: number }
  | {
      kind: 'counted'
      /** Of the expected spans: how many came, and how many of them more than once. */
      came: number
      repeated: number
      copies: number
      /** Spans that Causeway added. */
      added: number
      cpuSeconds: number
      /** Epoch milliseconds at which each span came first, in the order of span numbers; empty unless kept. */
      cameMs: number[]
    }
