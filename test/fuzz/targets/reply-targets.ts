import { ok } from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { outcomeOfReply } from '../../../src/exporter/backend-replies.ts'
import { outcomeOfGrpcError } from '../../../src/exporter/otlp-grpc/grpc-transport.ts'
import { outcomeOfHttpReply, retryAfterMs } from '../../../src/exporter/otlp-http/http-transport.ts'
import { encodeExportResponse, encodeRpcStatus } from '../../../src/model/otlp/responses.ts'
import { HTTP_CODINGS } from '../../../src/receiver/compression.ts'
import { PendingBodies, readBody, SlowBodyWatch } from '../../../src/receiver/request-body.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import { lz4Zeros } from '../../receiver/codings/as-lz4.ts'
import { ENCODED } from '../../receiver/codings/encoded-by-go.ts'
import { traceRequests } from '../seed-requests.ts'
import type { Target } from '../target.ts'

const THROTTLED = { code: 8, message: 'later', retryAfterMs: 1500 }
const PARTIAL = { rejected: 3, message: 'three were refused' }

/** What a delay must be for a timer to be able to wait for it. */
function expectDelay(afterMs: number | undefined): void {
  ok(afterMs === undefined || (Number.isFinite(afterMs) && afterMs >= 0), `a delay of ${String(afterMs)}`)
}

export const replies: Target = {
  name: 'backend-replies',
  shape: 'protobuf',
  words: ['application/json', '{"partialSuccess":{"rejectedSpans":"1e999"}}', '{"message":{}}', 'RetryInfo'],
  seeds: () => [
    Buffer.from(encodeRpcStatus('protobuf', THROTTLED)),
    Buffer.from(encodeRpcStatus('json', THROTTLED)),
    ...(['protobuf', 'json'] as const).map((form) =>
      Buffer.from(encodeExportResponse('traces', form, PARTIAL)),
    ),
    Buffer.from('Fri, 31 Dec 1999 23:59:59 GMT'),
    Buffer.from('120'),
  ],
  run(input) {
    const accepted = [outcomeOfReply(input)]
    for (const code of [200, 307, 400, 429, 503])
      for (const type of ['application/json', 'application/x-protobuf', 'text/html']) {
        const headers = { 'content-type': type, 'retry-after': input.toString('latin1') }
        accepted.push(outcomeOfHttpReply({ status: code, headers, body: input, cut: false }, 0))
      }
    const metadata = new Metadata()
    metadata.set('grpc-status-details-bin', input)
    const error = { code: status.UNAVAILABLE, details: input.toString(), metadata } as ServiceError
    accepted.push(outcomeOfGrpcError(error))
    for (const outcome of accepted) {
      if (outcome.kind === 'retry') expectDelay(outcome.afterMs)
      if (outcome.kind === 'delivered') ok(Number.isSafeInteger(outcome.refused) && outcome.refused >= 0)
    }
    expectDelay(retryAfterMs(input.toString(), 0))
  },
}

const MOST = 1_000_000

export const bodies: Target = {
  name: 'compressed-bodies',
  shape: 'bytes',
  seeds: () => {
    const request = traceRequests()[0]!
    const twice = Buffer.concat([gzipSync(request), gzipSync(request)])
    return [
      gzipSync(request),
      deflateSync(request),
      zstdCompressSync(request),
      twice,
      gzipSync(Buffer.alloc(3 * MOST)),
      ...ENCODED.map(({ bytes }) => bytes),
      lz4Zeros(3),
    ]
  },
  async run(input) {
    for (const coding of [...Object.keys(HTTP_CODINGS), 'identity', '']) {
      const inFlight = new InFlight()
      using pace = new SlowBodyWatch()
      using reservation = inFlight.open()
      const request = Object.assign(Readable.from([input]), {
        headers: { 'content-encoding': coding },
        complete: true,
        socket: {},
      })
      const awaited = new PendingBodies()
      const body = await readBody(request as unknown as IncomingMessage, {
        maxBytes: MOST,
        reservation,
        awaited,
        pace,
      })
      ok(inFlight.bytes <= MOST)
      if (body.kind === 'whole') ok(body.bytes.length <= MOST)
    }
  },
}
