import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { http2Floods } from '../../../lab/harness/clients/http2-floods.ts'
import { RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { RecordingPort } from '../support/recording-port.ts'
import { startGrpc } from '../support/start-receivers.ts'

const OK = 0
test.each(http2Floods('grpc'))(
  'a flood of $what ends its connection, and no other',
  async ({ frames, reads }) => {
    const port = new RecordingPort()
    await using receiver = await startGrpc(port)
    using sender = new GrpcSender(receiver.port)
    expect(await sender.export('traces', Buffer.from('before'))).toMatchObject({ code: OK })
    using raw = await RawHttp2.to(receiver.port)
    if (!reads) raw.socket.pause()
    const flooding = raw.flood(frames())
    expect(await sender.export('traces', Buffer.from('beside'))).toMatchObject({ code: OK })
    await flooding
    await raw.closed
    expect(await sender.export('traces', Buffer.from('after'))).toMatchObject({ code: OK })
    expect(port.requests.map(({ request }) => request.toString())).toEqual(['before', 'beside', 'after'])
    while (receiver.connections > 1) await new Promise((resolve) => setImmediate(resolve))
  },
)
