import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { type JsonObject, textIn } from '../../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../../src/kube/objects/observations.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { parseRfc3339 } from '../../../src/model/time-and-size.ts'
import type { Source } from './replay.ts'

const ROLLOUT = new URL('../../../test/inference/recordings/rollout/', import.meta.url)

/** Every line of a recording of a real cluster. */
export function recordedLines(source: Source): JsonObject[] {
  const text = gunzipSync(readFileSync(new URL(`${source}.jsonl.gz`, ROLLOUT))).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject)
}

/** What the sources told, in the order in which they did. */
export function recordedObservations(sources: readonly Source[]): Observation[] {
  const all = sources.flatMap((source) =>
    recordedLines(source).flatMap((line) => {
      const read =
        source === 'audit'
          ? readAuditEvent(line)
          : readWatchEvent(line, parseRfc3339(textIn(line, 'time')) ?? 0n)
      return typeof read === 'string' ? [] : [read]
    }),
  )
  return all.sort((one, other) => (one.seenNs < other.seenNs ? -1 : 1))
}
