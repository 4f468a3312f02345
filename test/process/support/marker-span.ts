import { spansRequest } from '../../support/otlp-requests.ts'
import type { SendableRequest } from '../../../lab/harness/clients/request-sender.ts'

/** Far from the traces and spans of any load. */
const FIRST = 9_000_000

let markers = 0

/** A request with one span of this name that belongs to no change, so that it is forwarded as it is, and alone. */
export function markerSpan(name: string): SendableRequest {
  const id = FIRST + ++markers
  return { signal: 'traces', bytes: spansRequest('marker', [{ trace: id, id, name }]) }
}
