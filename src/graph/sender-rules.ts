import { hash } from 'node:crypto'
import { matchesOnePattern, matchesPattern } from '../model/senders/matches-pattern.ts'
import type { Owner } from '../model/ports/arrival-port.ts'
import type { Sender } from '../model/senders/sender.ts'
import type { SenderGrants, SenderPolicy, SenderRule } from '../model/senders/sender-policy.ts'

/** A kind of names in certificates; a pattern without one is for names of hosts. */
const KIND = /^(?:dns|uri|cn|email|ip):/
const MAX_REMEMBERED = 1_000

/** Looks up what a sender may send. */
export class SenderRules {
  readonly #policy: SenderPolicy
  readonly #known = new Map<string, Allowed>()

  constructor(policy: SenderPolicy) {
    this.#policy = policy
  }

  of(sender: Sender = {}): Allowed {
    const key = JSON.stringify([sender.authenticator, sender.username, sender.certificate])
    let allowed = this.#known.get(key)
    if (allowed === undefined) {
      if (this.#known.size >= MAX_REMEMBERED) this.#known.clear()
      const rule = this.#policy.rules.find(({ match }) => fits(match, sender))
      allowed = new Allowed(rule?.grants ?? this.#policy.otherwise)
      this.#known.set(key, allowed)
    }
    return allowed
  }
}

/** What one sender may send. */
export class Allowed {
  readonly #grants: SenderGrants
  readonly #mergesAll: boolean
  readonly #digest: Buffer

  constructor(grants: SenderGrants) {
    this.#grants = grants
    const { clusters, services, unknown } = grants.mergeFrom
    this.#mergesAll = unknown && clusters.includes('*') && services.includes('*')
    this.#digest = hash('sha256', JSON.stringify(grants), 'buffer')
  }

  may(send: 'spans' | 'logs' | 'mergelogs', service: string, cluster: string): boolean {
    const { clusters, services } = this.#grants
    return this.#grants[send] && matchesOnePattern(clusters, cluster) && matchesOnePattern(services, service)
  }

  /** Whether its spans may be of changes of any cluster. */
  get joinsAll(): boolean {
    return this.#grants.join === 'any'
  }

  /** Whether it is pointless to ask `mayMerge`. */
  get mayMergeAll(): boolean {
    return this.#mergesAll
  }

  /** `owner` is undefined while the change's own mergelog has not arrived. */
  mayMerge(owner: Owner | undefined): boolean {
    const { clusters, services, unknown } = this.#grants.mergeFrom
    if (owner === undefined) return unknown
    return matchesOnePattern(clusters, owner.cluster) && matchesOnePattern(services, owner.service)
  }

  /**
   * The hash by which a request of this sender is known again: what another one was refused, or was refused under
   * another policy, is no repetition.
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
