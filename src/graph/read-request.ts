import { hash } from 'node:crypto'
import type { Decoded, LogRecord, SpanRecord } from '../model/arrivals.ts'
import type { Signal } from '../model/ingest.ts'
import { decodeLogs } from '../otlp/read/decode-logs.ts'
import { decodeTraces } from '../otlp/read/decode-traces.ts'

/** A decoded request and the hash by which its repetition is known. */
export interface ReadRequest {
  hash: Buffer
  traces?: Decoded<SpanRecord>
  logs?: Decoded<LogRecord>
}

/** The hash by which the repetition of a request is known. */
export function hashOfRequest(signal: Signal, bytes: Uint8Array): Buffer {
  const digest = hash('sha256', bytes, 'buffer').subarray(0, 16)
  // The same bytes can be a valid request of either signal.
  if (signal === 'logs') digest[0] = (digest[0] ?? 0) ^ 0xff
  return digest
}

/** Decodes an export request whole, before anything of it is stored. Throws MalformedOtlp. */
export function readRequest(
  signal: Signal,
  bytes: Buffer,
  hash: Buffer = hashOfRequest(signal, bytes),
): ReadRequest {
  return signal === 'traces' ? { hash, traces: decodeTraces(bytes) } : { hash, logs: decodeLogs(bytes) }
}
