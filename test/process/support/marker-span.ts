import { spansRequest } from '../../support/otlp-requests.ts'
import type { CausewaySettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { storedSpans } from '../../../lab/harness/causeway/stored-data.ts'
import type { SendableRequest } from '../../../lab/harness/clients/request-sender.ts'

/** Far from the traces and spans of any load. */
const FIRST = 9_000_000

let markers = 0

/** A request with one span of this name that belongs to no change, so that it is forwarded as it is, and alone. */
export function markerSpan(name: string): SendableRequest & { readonly id: number } {
  const id = FIRST + ++markers
  return { id, signal: 'traces', bytes: spansRequest('marker', [{ trace: id, id, name }]) }
}

/** The numbers of the marker spans that are stored, each as often as it is there. */
export function storedMarkers(settings: CausewaySettings): number[] {
  return storedSpans(settings)
    .map((key) => Number.parseInt(key.split('/')[1] ?? '', 16))
    .filter((id) => id > FIRST && id <= FIRST + markers)
}
