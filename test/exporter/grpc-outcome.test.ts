import { Metadata, status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { startGrpcBackend } from '../../lab/harness/sinks/grpc-backend.ts'
import { rpcStatus } from './otlp-bytes.ts'
import { going, grpcSettings, REQUEST } from './transport-settings.ts'

async function outcomeOf(code: status, details?: Buffer): Promise<unknown> {
  const metadata = new Metadata()
  if (details) metadata.set('grpc-status-details-bin', details)
  await using backend = await startGrpcBackend((reply) => reply({ code, details: 'as told', metadata }))
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  return await transport.send(REQUEST, going())
}

test.each([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
])('status %i is retried', async (code) => {
  expect(await outcomeOf(code)).toEqual({ kind: 'retry', reason: `${status[code]}: as told` })
})

test.each([
  status.UNKNOWN,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.UNAUTHENTICATED,
  status.FAILED_PRECONDITION,
  status.UNIMPLEMENTED,
  status.INTERNAL,
])('status %i is refused', async (code) => {
  const reason = `${status[code]}: as told`
  expect(await outcomeOf(code)).toEqual({ kind: 'refused', splittable: false, reason })
})

test.each([status.INVALID_ARGUMENT, status.RESOURCE_EXHAUSTED])(
  'status %i is refused, but a smaller batch may fare better',
  async (code) => {
    const reason = `${status[code]}: as told`
    expect(await outcomeOf(code)).toEqual({ kind: 'refused', splittable: true, reason })
    expect(await outcomeOf(code, rpcStatus('no retry info'))).toMatchObject({ kind: 'refused' })
  },
)

test.each([status.RESOURCE_EXHAUSTED, status.UNAVAILABLE])(
  'status %i with RetryInfo is retried after its delay',
  async (code) => {
    const details = rpcStatus('busy', { seconds: 2, nanos: 500_000_000 })
    expect(await outcomeOf(code, details)).toMatchObject({ kind: 'retry', afterMs: 2500 })
  },
)

test('a RetryInfo on a status that is not retryable changes nothing', async () => {
  const details = rpcStatus('never', { seconds: 2, nanos: 0 })
  expect(await outcomeOf(status.UNAUTHENTICATED, details)).toMatchObject({ kind: 'refused' })
})

test('a negative delay is none, and unreadable details are ignored', async () => {
  const past = rpcStatus('past', { seconds: -3, nanos: 0 })
  expect(await outcomeOf(status.UNAVAILABLE, past)).toMatchObject({ kind: 'retry', afterMs: 0 })
  expect(await outcomeOf(status.UNAVAILABLE, Buffer.from([0x1a, 0x7f]))).toEqual({
    kind: 'retry',
    reason: 'UNAVAILABLE: as told',
  })
})
