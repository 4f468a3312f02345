import { parseObjectReference } from '../../model/kubernetes-objects.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import { namedObjects } from '../../model/otlp/read-stored-span.ts'
import { OnConnection } from './open-database.ts'

/** How many spans that observed a version are searched: the one that reports it superseded is among the first. */
const READERS_LOOKED_AT = 64

/** Reads which changes were overwritten before any controller acted on them: a span named `superseded …` observed their version. */
export class SupersededVersions extends OnConnection {
  readonly #superseding = this.column<[{ object: string; version: bigint }], Buffer>(
    `SELECT spans.raw FROM (SELECT span FROM span_objects
         WHERE object = (SELECT id FROM objects WHERE object = @object) AND role = 0 AND version = @version
         ORDER BY span LIMIT ${READERS_LOOKED_AT}) reader
       CROSS JOIN spans ON spans.id = reader.span WHERE spans.name GLOB 'superseded *'`,
  )

  /** The change that overwrote a version; undefined if none did, or the reference has no version. */
  by(reference: string): Cpid | undefined {
    const { object, version } = parseObjectReference(reference) ?? {}
    if (object === undefined || version === undefined) return undefined
    const span = this.#superseding.get({ object, version })
    return span === undefined ? undefined : namedObjects(span).supersededBy
  }
}
