import { hash } from 'node:crypto'
import type { ArrivalStore, MergelogRecord, RecordOrigin, ServiceInCluster } from '../model/arrivals.ts'
import {
  type CpidNode,
  type MergeGraph,
  type Mergelog,
  type MergelogRefusal,
  parseCpid,
} from '../model/merge-graph.ts'
import { matchesOnePattern, matchesPattern } from '../model/untrusted-names.ts'
import type { Sender, SenderGrants, SenderPolicy, SenderRule } from '../model/otlp-requests.ts'

/** The kind before a name in a certificate; a pattern without one is for host names. */
const KIND = /^(?:dns|uri|cn|email|ip):/
const MAX_REMEMBERED = 1_000

/** Finds the permissions of a sender. */
export class SenderRules {
  readonly #policy: SenderPolicy
  readonly #known = new Map<string, SenderPermissions>()

  constructor(policy: SenderPolicy) {
    this.#policy = policy
  }

  of(sender: Sender = {}): SenderPermissions {
    const key = JSON.stringify([sender.authenticator, sender.username, sender.certificate])
    let allowed = this.#known.get(key)
    if (allowed === undefined) {
      if (this.#known.size >= MAX_REMEMBERED) this.#known.clear()
      const rule = this.#policy.rules.find(({ match }) => fits(match, sender))
      allowed = new SenderPermissions(rule?.grants ?? this.#policy.otherwise)
      this.#known.set(key, allowed)
    }
    return allowed
  }
}

export class SenderPermissions {
  readonly #grants: SenderGrants
  readonly #digest: Buffer
  /** Whether its spans may carry CPIDs of any cluster. */
  readonly joinsAll: boolean
  /** `mayMerge` is always true. */
  readonly mayMergeAll: boolean

  constructor(grants: SenderGrants) {
    this.#grants = grants
    const { clusters, services, unknown } = grants.mergeFrom
    this.joinsAll = grants.join === 'any'
    this.mayMergeAll = unknown && clusters.includes('*') && services.includes('*')
    this.#digest = hash('sha256', JSON.stringify(grants), 'buffer')
  }

  may(send: 'spans' | 'logs' | 'mergelogs' | 'metrics', service: string, cluster: string): boolean {
    const { clusters, services } = this.#grants
    return this.#grants[send] && matchesOnePattern(clusters, cluster) && matchesOnePattern(services, service)
  }

  /** `owner` is undefined while the change's own mergelog has not arrived. */
  mayMerge(owner: ServiceInCluster | undefined): boolean {
    const { clusters, services, unknown } = this.#grants.mergeFrom
    if (owner === undefined) return unknown
    return matchesOnePattern(clusters, owner.cluster) && matchesOnePattern(services, owner.service)
  }

  /**
   * The hash that recognises a repetition. It includes the permissions: the same bytes from a sender with other permissions, or
   * under another policy, are no repetition.
   */
  hashOf(request: Buffer): Buffer {
    const bytes = Buffer.concat([request, this.#digest])
    return hash('sha256', bytes, 'buffer').subarray(0, request.length)
  }
}

function fits({ authenticator, username, certificate }: SenderRule['match'], sender: Sender): boolean {
  if (authenticator !== undefined && !isNamed(authenticator, sender.authenticator)) return false
  if (username !== undefined && !isNamed(username, sender.username)) return false
  if (certificate === undefined) return true
  const ofItsKind = KIND.test(certificate) ? certificate : `dns:${certificate}`
  return (sender.certificate ?? []).some((name) => matchesPattern(ofItsKind, name))
}

const isNamed = (pattern: string, name: string | undefined): boolean =>
  name !== undefined && matchesPattern(pattern, name)

const MAX_NAME = 64

/** The resource and scope of an item, and the permissions of its sender. */
export interface ItemOrigin extends RecordOrigin {
  readonly service: string
  readonly sender: string | undefined
  readonly permissions: SenderPermissions | undefined
  /** Which attribute that permissions depend on its resource has more than once. */
  readonly repeated: string | undefined
}

/** Checks permissions that depend on who owns stored CPIDs. */
export class StoredOwnership {
  readonly #store: Pick<ArrivalStore, 'ownerOf'>
  readonly #graph: Pick<MergeGraph, 'find'>

  constructor(store: Pick<ArrivalStore, 'ownerOf'>, graph: Pick<MergeGraph, 'find'>) {
    this.#store = store
    this.#graph = graph
  }

  /** Why the sender may not send this mergelog; undefined when it may. */
  forbids(
    { sources }: Mergelog,
    record: MergelogRecord,
    { permissions: allowed, service, cluster, repeated }: ItemOrigin,
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
  isForeign(text: string | null | undefined, from: ItemOrigin): boolean {
    const cpid = typeof text === 'string' ? parseCpid(text) : undefined
    const node = cpid && this.#graph.find(cpid)
    if (node === undefined) return false
    const owner = this.#store.ownerOf(node.id)
    if (owner !== undefined) return owner.cluster !== from.cluster
    return node.claim !== undefined && claimStrength(node.claim, from) === 0
  }

  /** Whether a CPID and its mergelog belong to a cluster that a sender is not of. */
  isOfOthers({ id, claim }: CpidNode, from: ItemOrigin): boolean {
    const owner = claim && this.#store.ownerOf(id)
    return (
      claim !== undefined &&
      owner !== undefined &&
      claimStrength(claim, owner) > 0 &&
      claimStrength(claim, from) === 0
    )
  }

  /** Whether a sender has a better claim to a CPID than whoever sent its mergelog. */
  hasBetterClaim({ id, claim }: CpidNode, from: ItemOrigin): boolean {
    const owner = claim && this.#store.ownerOf(id)
    return (
      claim !== undefined && owner !== undefined && claimStrength(claim, from) > claimStrength(claim, owner)
    )
  }
}

export function foreignChangeSentence({ sender, cluster }: ItemOrigin): string {
  const [name = '', of = ''] = [sender ?? 'an unknown sender', cluster].map((text) => text.slice(0, MAX_NAME))
  return `${name} of cluster "${of}" may send no spans of changes of another cluster; see join of connectors::cpid::senders`
}

export function repeatedAttributeSentence(items: string, key: string): string {
  return `${items} with more than one ${key} are refused, since connectors::cpid::senders decides by it; give it once`
}

export function notAllowedSentence(
  items: string,
  { sender, service, cluster }: Pick<ItemOrigin, 'sender' | 'service' | 'cluster'>,
): string {
  const [name, as, of] = [sender ?? 'an unknown sender', service, cluster].map((text) =>
    text.slice(0, MAX_NAME),
  )
  return `${name ?? ''} may not send ${items} for service "${as ?? ''}" of cluster "${of ?? ''}"; see connectors::cpid::senders`
}

const BYTES = 8

/** The owner of a CPID in 16 bytes: a hash of the cluster, and one of cluster and service. */
export function claimOf({ service, cluster }: ServiceInCluster): Buffer {
  return Buffer.concat([digest([cluster]), digest([cluster, service])])
}

/** The strength of a claim to a CPID: 2 for its owner, 1 for others of the same cluster, else 0. */
export function claimStrength(claim: Buffer, who: ServiceInCluster): 0 | 1 | 2 {
  const own = claimOf(who)
  if (own.equals(claim)) return 2
  return own.subarray(0, BYTES).equals(claim.subarray(0, BYTES)) ? 1 : 0
}

function digest(names: readonly string[]): Buffer {
  return hash('sha256', JSON.stringify(names), 'buffer').subarray(0, BYTES)
}
