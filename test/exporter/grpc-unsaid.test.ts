import { expect, test } from '@jest/globals'
import { answersStatus, startRawGrpcBackend } from '../../lab/harness/sinks/raw-grpc-backend.ts'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { going, grpcSettings, REQUEST } from './transport-settings.ts'

test('a yes without a message is neither taken for one nor for a refusal: the data is kept', async () => {
  await using backend = await startRawGrpcBackend([answersStatus(0)])
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'retry',
    reason:
      'it answers OK without a message, as no OTLP backend does; correct the endpoint, or a proxy before it',
  })
})
