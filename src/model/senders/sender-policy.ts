/** What senders may send. The first rule that fits a sender counts, else `otherwise`. */
export interface SenderPolicy {
  readonly rules: readonly SenderRule[]
  readonly otherwise: SenderGrants
}

export interface SenderRule {
  /** Patterns with `*`; all that are given have to fit. One for certificates has to fit one of the names, of the kind before
   * it: `dns:`, `uri:`, `cn:`, `email:` or `ip:`, and `dns:` where there is none.
   */
  readonly match: {
    readonly authenticator?: string
    readonly username?: string
    readonly certificate?: string
  }
  readonly grants: SenderGrants
}

/** Lists of patterns with `*`; a resource without a cluster has the empty name. */
export interface SenderGrants {
  readonly spans: boolean
  readonly logs: boolean
  readonly mergelogs: boolean
  /** Of which changes its spans may be: `own`, those of the cluster that they are of themselves. */
  readonly join: 'own' | 'any'
  /** For which `k8s.cluster.name` and which `service.name`. */
  readonly clusters: readonly string[]
  readonly services: readonly string[]
  /** Whose changes its mergelogs may name as sources. */
  readonly mergeFrom: {
    readonly clusters: readonly string[]
    readonly services: readonly string[]
    /** Also changes whose own mergelog has not arrived. */
    readonly unknown: boolean
  }
}
