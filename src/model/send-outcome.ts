/**
 * What became of one batch sent to a backend.
 * - delivered: the backend took it; `refused` spans of it were turned away for good (OTLP partial success).
 * - retry: try the same bytes again, not before `afterMs` when the backend named a delay.
 * - refused: never send these bytes again; `splittable` when a smaller batch might fare better.
 */
export type SendOutcome =
  | { kind: 'delivered'; refused: number; message: string }
  | { kind: 'retry'; afterMs?: number; reason: string }
  | { kind: 'refused'; splittable: boolean; reason: string }

/** Sends OTLP export requests (uncompressed protobuf bytes) to one backend. `send` never rejects. */
export interface Transport extends AsyncDisposable {
  send(request: Uint8Array, signal: AbortSignal): Promise<SendOutcome>
}
