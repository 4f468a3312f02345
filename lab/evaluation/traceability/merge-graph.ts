import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'

interface SentMergelog {
  service: string
  cpid: string
  sources: readonly string[]
}

/** The mergelogs that were sent, in the order in which they were. */
export function mergelogsOf({ records }: Recorder): SentMergelog[] {
  return records
    .filter(({ eventName }) => eventName === 'cpid.mergelog')
    .map(({ attributes, resource }) => ({
      service: resource.attributes['service.name'] as string,
      cpid: attributes['cpid.new'] as string,
      sources: attributes['cpid.sources'] as string[],
    }))
}

/** The merge graph that honest mergelogs tell of. */
export class MergeGraph {
  readonly #mergedInto = new Map<string, string[]>()

  constructor(mergelogs: Iterable<SentMergelog>) {
    for (const { cpid, sources } of mergelogs) {
      for (const source of sources) {
        const merged = this.#mergedInto.get(source)
        if (merged === undefined) this.#mergedInto.set(source, [cpid])
        else merged.push(cpid)
      }
    }
  }

  /** A CPID and all that descend from it. */
  relatedOf(cpid: string): Set<string> {
    const related = new Set([cpid])
    for (const one of related) for (const merged of this.#mergedInto.get(one) ?? []) related.add(merged)
    return related
  }
}
