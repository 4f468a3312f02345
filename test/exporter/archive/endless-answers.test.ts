import { createServer, type ServerResponse } from 'node:http'
import { expect, test } from '@jest/globals'
import { type HttpBackend, startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { openTransport } from '../../../src/exporter/clickhouse/clickhouse-archive.ts'
import { ArchiveClient, ArchiveSilent } from '../../../src/query/archive/archive-client.ts'
import { going } from '../transport-settings.ts'

const MIB = 2 ** 20
/** What the answer of an archive may have, and what the buffers of two sockets hold besides. */
const MOST_WRITTEN = 32 * MIB
/** Rows of an archive, or one that never ends. */
const ROW = Buffer.from('{"newest":1}\n'.repeat(5_000))
const NO_ROW = Buffer.alloc(65_536, 'x')

interface Endless extends HttpBackend {
  /** Bytes written before the reader left. */
  readonly written: Promise<number>
}

/** Answers as fast as it is read, until nobody reads any more. */
async function startEndless(status: number, piece: Buffer): Promise<Endless> {
  const written = Promise.withResolvers<number>()
  const backend = await startHttpBackend((response: ServerResponse) => {
    let bytes = 0
    const goOn = (): void => {
      while (!response.destroyed) {
        bytes += piece.length
        if (!response.write(piece)) break
      }
    }
    response.on('drain', goOn).on('close', () => written.resolve(bytes))
    response.writeHead(status)
    goOn()
  }, createServer())
  return Object.assign(backend, { written: written.promise })
}

const TLS = { insecure: true, insecureSkipVerify: false }

test.each([
  ['rows without an end', 200, ROW],
  ['a row without an end', 200, NO_ROW],
  ['an error without an end', 500, NO_ROW],
])('%s of a ClickHouse are read no further than an answer may have', async (_, status, piece) => {
  await using backend = await startEndless(status, piece)
  const endpoint = new URL(backend.url).origin
  const settings = {
    ...{ endpoint, username: 'u', password: undefined, database: 'd', causeway: 'a', raw: false },
    ...{
      compression: 'zstd' as const,
      tls: TLS,
      timeoutMs: 60_000,
      createsSchema: true,
      retentionDays: undefined,
    },
    ...{ tracesTable: undefined, cluster: undefined },
  }
  const host = {
    clock: { wallMs: () => 0, monotonicMs: () => 0 },
    ...{ userAgent: 'test', writeLine: () => undefined, onTrouble: () => undefined },
  }
  await using transport = openTransport(settings as never, 'traces', host)
  expect(await transport.send(new Uint8Array(), going())).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('has more than 262144 bytes'),
  })
  expect(await backend.written).toBeLessThan(MOST_WRITTEN)
})

test('a question to an archive that answers without an end is given up', async () => {
  await using backend = await startEndless(200, ROW)
  const endpoint = new URL(backend.url).origin
  const address = { endpoint, database: 'd', username: 'u', timeoutMs: 60_000, tls: TLS }
  await using client = new ArchiveClient(address, 'test')
  const asked = client.rows({}, 'SELECT 1', client.deadline())
  await expect(asked).rejects.toThrow(ArchiveSilent)
  await expect(asked).rejects.toThrow('has more than 67108864 bytes')
  expect(await backend.written).toBeLessThan(64 * MIB + MOST_WRITTEN)
})

test('a connection whose answer has ended is used again, and its bytes are counted anew', async () => {
  const server = createServer()
  let connections = 0
  server.on('connection', () => connections++)
  const page = Buffer.concat(Array.from({ length: 8 }, () => ROW))
  await using backend = await startHttpBackend((response) => response.writeHead(200).end(page), server)
  const endpoint = new URL(backend.url).origin
  const address = { endpoint, database: 'd', username: 'u', timeoutMs: 60_000, tls: TLS }
  await using client = new ArchiveClient(address, 'test')
  const answers = Math.ceil((65 * MIB) / page.length)
  for (let at = 0; at < answers; at++)
    expect(await client.rows({}, 'SELECT 1', client.deadline())).toHaveLength(40_000)
  expect(connections).toBe(1)
})
