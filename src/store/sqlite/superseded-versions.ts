import { parseObjectReference } from '../../model/kubernetes-objects.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import { namedObjects } from '../../model/otlp/read-stored-span.ts'
import { OnConnection } from './open-database.ts'

/** The spans that report a superseded version came before controllers could act on it, so only the first readers are checked. */
const READERS_LOOKED_AT = 64

/** Reads which changes were overwritten before any controller acted on them: spans named `superseded …` observed their versions. */
export class SupersededVersions extends OnConnection {
  readonly #superseding = this.column<[{ object: string; version: bigint }], Buffer>(
    `SELECT spans.raw FROM (SELECT span FROM span_objects
         WHERE object = (SELECT id FROM objects WHERE object = @object) AND role = 0 AND version = @version
         ORDER BY span LIMIT ${READERS_LOOKED_AT}) reader
       CROSS JOIN spans ON spans.id = reader.span WHERE spans.name GLOB 'superseded *'`,
  )

  /** The change that overwrote what a version had set. Undefined for a reference without a version. */
  by(reference: string): Cpid | undefined {
    const { object, version } = parseObjectReference(reference) ?? {}
    if (object === undefined || version === undefined) return undefined
    const span = this.#superseding.get({ object, version })
    return span === undefined ? undefined : namedObjects(span).supersededBy
  }
}
