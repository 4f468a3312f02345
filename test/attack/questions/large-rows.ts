import { setTimeout as pause } from 'node:timers/promises'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import type { CausewaySettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { askOver } from './asking.ts'

const STORED_BYTES = 80_000_000
const LOOK_MS = 200
/** Together with what `AttackedCauseway` allows beyond it, some 250 MiB more than a Causeway with such rows has at rest. */
export const LIMIT_MIB = 500
export const LARGE_TRACE_ID = cpid(1).replaceAll('-', '')
export const LARGE_TRACE = `/jaeger/api/traces/${LARGE_TRACE_ID}`

/** Stores one trace of 80 MB in rows of this size. Resolves when it can be asked for as it was sent. */
export async function storeLargeRows(ports: CausewaySettings['ports'], rowBytes: number): Promise<void> {
  using sender = new GrpcSender(ports.grpc)
  await sender.export('logs', mergelogsRequest('kubectl', [{ new: cpid(1) }]))
  const attributes = { note: 'x'.repeat(rowBytes) }
  for (let row = 1; row * rowBytes <= STORED_BYTES; row++)
    await sender.export('traces', spansRequest('large', [{ trace: 1, id: row, cpid: cpid(1), attributes }]))
  while ((await askOver(ports.query, LARGE_TRACE)) !== 200) await pause(LOOK_MS)
}
