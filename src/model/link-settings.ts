export type LinkingMode = 'cascade' | 'links' | 'passthrough'

/** What an operator says of linking. */
export interface LinkSettings {
  mode: LinkingMode
  /** How long a span waits for what is missing, from when it was first missed. */
  waitMs: number
  /** How long nothing must arrive for a trace to settle. */
  settleAfterMs: number
  maxOpenMs: number
  /** How many of its newest roots a CPID keeps. */
  maxFanout: number
  maxTraceSpans: number
  maxTraceBytes: number
}

export interface LinkerSettings extends LinkSettings {
  /** Log records are linked too, because something sends them on. */
  logs: boolean
  /** Who sends may be told apart, so that the room of a trace is shared out. */
  tellsSendersApart?: boolean
  /** Spans of API servers wait for the write that they are of, because something tells of requests. */
  awaitsRequests?: boolean
  /** Spans of kubelets wait for a version of their Pod, because something tells of writes. */
  awaitsPods?: boolean
}
