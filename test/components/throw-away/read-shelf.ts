import { readFileSync } from 'node:fs'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import type { ReceiverHost, RunningReceiver, StartedWith } from '../../../src/receiver/receiver-type.ts'
import type { ShelfReceiverSettings } from './shelf-receiver.ts'

export async function startReceiver(
  { id, settings: { file } }: StartedWith<ShelfReceiverSettings>,
  { ingestPort: intake, observer }: ReceiverHost,
): Promise<RunningReceiver> {
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n')) {
    const outcome = await intake.ingest('traces', protobufOfJson('traces', Buffer.from(line)))
    observer.answered({ receiver: id, transport: 'file', signal: 'traces', outcome, bytes: line.length })
  }
  return { listeners: [], [Symbol.asyncDispose]: () => Promise.resolve() }
}
