import type { ArrivalStore, SentFrom } from '../model/ports/arrival-port.ts'
import type { MergelogRecord } from '../model/arrivals.ts'
import { parseCpid } from '../model/cpid.ts'
import type { CpidNode, Mergelog, MergeGraph, MergelogRefusal } from '../model/ports/graph-port.ts'
import { claimStrength } from '../model/senders/claims.ts'
import type { Allowed } from './sender-rules.ts'

const MAX_NAME = 64

/** Where an item stands in its request, and what its sender may send. */
export interface From extends SentFrom {
  readonly service: string
  readonly sender: string | undefined
  readonly allowed: Allowed | undefined
  /** Which attribute that says whose it is its resource gives more than once, where that matters. */
  readonly repeated: string | undefined
}

/** Decides by what is stored whether a sender may send something. */
export class SenderVerdicts {
  readonly #store: Pick<ArrivalStore, 'ownerOf'>
  readonly #graph: Pick<MergeGraph, 'find'>

  constructor(store: Pick<ArrivalStore, 'ownerOf'>, graph: Pick<MergeGraph, 'find'>) {
    this.#store = store
    this.#graph = graph
  }

  /** Why the sender may not send this mergelog. */
  forbids(
    { sources }: Mergelog,
    record: MergelogRecord,
    { allowed, service, cluster, repeated }: From,
  ): MergelogRefusal | undefined {
    if (allowed === undefined) return undefined
    if ((repeated ?? record.repeated) !== undefined) return 'repeated_attribute'
    if (!allowed.may('mergelogs', service, cluster)) return 'sender_not_allowed'
    if (allowed.mayMergeAll) return undefined
    const isForeign = sources.some((source) => {
      const node = this.#graph.find(source)
      return !allowed.mayMerge(node && this.#store.ownerOf(node.id))
    })
    return isForeign ? 'foreign_source' : undefined
  }

  /** Whether a CPID is known to be a change of another cluster. */
  isForeign(text: string | null | undefined, from: From): boolean {
    const cpid = typeof text === 'string' ? parseCpid(text) : undefined
    const node = cpid && this.#graph.find(cpid)
    if (node === undefined) return false
    const owner = this.#store.ownerOf(node.id)
    if (owner !== undefined) return owner.cluster !== from.cluster
    return node.claim !== undefined && claimStrength(node.claim, from) === 0
  }

  /** Whether a sender has a better claim to a CPID than whoever sent its mergelog. */
  isBetter({ id, claim }: CpidNode, from: From): boolean {
    const owner = claim && this.#store.ownerOf(id)
    return (
      claim !== undefined && owner !== undefined && claimStrength(claim, from) > claimStrength(claim, owner)
    )
  }
}

export function foreign({ sender, cluster }: From): string {
  const [name = '', of = ''] = [sender ?? 'an unknown sender', cluster].map((text) => text.slice(0, MAX_NAME))
  return `${name} of cluster "${of}" may send no spans of changes of another cluster; see join of connectors::cpid::senders`
}

export function inDoubt(items: string, key: string): string {
  return `${items} with more than one ${key} are refused, since connectors::cpid::senders decides by it; give it once`
}

export function forbidden(items: string, { sender, service, cluster }: From): string {
  const [name, as, of] = [sender ?? 'an unknown sender', service, cluster].map((text) =>
    text.slice(0, MAX_NAME),
  )
  return `${name ?? ''} may not send ${items} for service "${as ?? ''}" of cluster "${of ?? ''}"; see connectors::cpid::senders`
}
