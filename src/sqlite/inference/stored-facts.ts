import { cpidBytes, cpidOfBytes, type Cpid } from '../../model/cpid.ts'
import type { KnownVersion } from '../../model/kubernetes/cluster-objects.ts'
import type { ObjectFacts } from '../../model/kubernetes/object-facts.ts'

const CPID_BYTES = 16

export interface VersionRow {
  version: bigint
  cpid: Buffer | null
  gone: bigint
  facts: string
  includes: Buffer
  readable_ns: bigint | null
}

/** A version as a row holds it; what it says is read once somebody asks. */
export class StoredVersion implements KnownVersion {
  readonly version: bigint
  readonly cpid: Cpid | undefined
  readonly gone: boolean
  readonly readableNs: bigint | undefined
  readonly #includes: Buffer
  #text: string | undefined
  #facts: ObjectFacts | undefined

  constructor({ version, cpid, gone, facts, includes, readable_ns }: VersionRow) {
    this.version = version
    this.cpid = cpid === null ? undefined : cpidOfBytes(cpid)
    this.gone = gone === 1n
    this.readableNs = readable_ns ?? undefined
    this.#text = facts
    this.#includes = includes
  }

  get facts(): ObjectFacts {
    if (this.#facts === undefined) {
      this.#facts = JSON.parse(this.#text ?? '{}') as ObjectFacts
      this.#text = undefined
    }
    return this.#facts
  }

  get includes(): readonly Cpid[] {
    const cpids: Cpid[] = []
    for (let at = 0; at < this.#includes.length; at += CPID_BYTES)
      cpids.push(cpidOfBytes(this.#includes.subarray(at, at + CPID_BYTES)))
    return cpids
  }
}

/** What of a version goes into its row. */
export function rowOf({ version, cpid, gone, facts, includes, readableNs }: KnownVersion): VersionRow {
  return {
    version,
    cpid: cpid === undefined ? null : cpidBytes(cpid),
    gone: gone ? 1n : 0n,
    facts: JSON.stringify(facts),
    includes: Buffer.concat(includes.map(cpidBytes)),
    readable_ns: readableNs ?? null,
  }
}
