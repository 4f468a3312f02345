import { createServer, type ServerResponse } from 'node:http'
import { expect, test } from '@jest/globals'
import { type HttpBackend, startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { startRawBackend } from '../../../lab/harness/sinks/raw-backend.ts'
import { openTransport } from '../../../src/exporter/clickhouse/clickhouse-archive.ts'
import { ArchiveClient, ArchiveSilent } from '../../../src/query/archive/archive-client.ts'
import { going } from '../transport-settings.ts'

const TIMEOUT_MS = 200
/** No silence is ever as long as the time limit. */
const EVERY_MS = 20
const TLS = { insecure: true, insecureSkipVerify: false }

/** Answers byte by byte, without an end. */
async function startDripping(status: number, byte: string): Promise<HttpBackend> {
  return await startHttpBackend((response: ServerResponse) => {
    response.writeHead(status)
    const timer = setInterval(() => response.write(byte), EVERY_MS)
    response.on('close', () => clearInterval(timer))
  }, createServer())
}

const settingsFor = (endpoint: string): never =>
  ({
    ...{ endpoint, username: 'u', password: undefined, database: 'd', causeway: 'a', raw: false },
    ...{
      compression: 'zstd',
      tls: TLS,
      timeoutMs: TIMEOUT_MS,
      createsSchema: true,
      retentionDays: undefined,
    },
    ...{ tracesTable: undefined, cluster: undefined },
  }) as never

const host = {
  clock: { wallMs: () => 0, monotonicMs: () => 0 },
  ...{ userAgent: 'test', writeLine: () => undefined, onTrouble: () => undefined },
}

test.each([
  ['rows', 200, ' '],
  ['an error', 500, 'x'],
])('%s of a ClickHouse, byte by byte, have no longer than a request may take', async (_, status, byte) => {
  await using backend = await startDripping(status, byte)
  await using transport = openTransport(settingsFor(new URL(backend.url).origin), 'traces', host)
  // A connection that was used before is timed anew.
  for (let times = 0; times < 2; times++)
    expect(await transport.send(new Uint8Array(), going())).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('took longer than 0.2 s'),
    })
})

test('the head of an answer, byte by byte, has no longer either', async () => {
  await using backend = await startRawBackend((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX-More: ')
    const timer = setInterval(() => socket.write('x'), EVERY_MS)
    socket.on('close', () => clearInterval(timer)).on('error', () => undefined)
  })
  await using transport = openTransport(settingsFor(`http://127.0.0.1:${backend.port}`), 'traces', host)
  expect(await transport.send(new Uint8Array(), going())).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('took longer than 0.2 s'),
  })
})

test('a question to an archive that answers byte by byte is given up', async () => {
  await using backend = await startDripping(200, ' ')
  const address = {
    ...{ endpoint: new URL(backend.url).origin, database: 'd', username: 'u' },
    ...{ timeoutMs: TIMEOUT_MS, tls: TLS },
  }
  await using client = new ArchiveClient(address, 'test')
  const asked = client.rows({}, 'SELECT 1', client.deadline())
  await expect(asked).rejects.toThrow(ArchiveSilent)
  await expect(asked).rejects.toThrow('did not answer within 0.2 s')
})
