import type { WritePart } from '../../../src/kube/inference/write-part.ts'
import { type JsonObject, objectIn, textIn } from '../../../src/kube/objects/object-json.ts'

/** What an Event about a write says of the version that was read for it: an answer sheet, not a source. */
interface ReadByEvent {
  readonly reason: string
  /** What kind of write it is about. */
  readonly parts: readonly WritePart[]
  /** The name of the object that was written. */
  readonly object: string
  readonly version: string
}

/** Reads a line of a recorded watch; nothing where it is no Event that was new and names a version. */
export function readEvent({ type, object: event }: JsonObject): ReadByEvent[] {
  if (textIn(event, 'kind') !== 'Event' || type !== 'ADDED') return []
  const about = objectIn(event, 'regarding')
  const [note, reason] = [textIn(event, 'note'), textIn(event, 'reason')]
  const said = { reason, version: textIn(about, 'resourceVersion') }
  const last = note.split(' ').at(-1) ?? ''
  switch (reason) {
    case 'SuccessfulCreate':
      return [{ ...said, parts: ['creation'], object: last }]
    case 'SuccessfulDelete':
      return [{ ...said, parts: ['deletion'], object: last }]
    case 'Scheduled':
      return [{ ...said, parts: ['binding'], object: textIn(about, 'name') }]
    case 'ScalingReplicaSet':
      return [
        {
          ...said,
          parts: ['creation', 'authored', 'scale'],
          object: / replica set (\S+)/.exec(note)?.[1] ?? '',
        },
      ]
    default:
      return []
  }
}
