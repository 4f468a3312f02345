/**
 * Which objects a relation reads, by kind. "It" is the written object, and the writer is its controller:
 * - owner: its owners.
 * - dependents: objects of `resource` that it owns and that changed since the writer last wrote it; if there are none, the latest one.
 * - leaving: objects of its owner that were deleted, began to terminate or finished since the writer last acted on what that owner owns;
 *   for a change of content, only if nothing else is new.
 * - replaced: objects of its owner with its template that were deleted since the writer last acted on what that owner owns.
 * - edited: objects of its owner, itself among them, that an operator edited since the owner's content changed; for a creation, since the
 *   writer last acted on what that owner owns.
 * - fellows: objects of its owner that have or want replicas and that changed since the writer last wrote it.
 * - departed: objects of `resource` that lost its owner since the writer last acted on what that owner owns; for a status, that lost it as
 *   an owner.
 * - adopted: the object that the writer last gave to its owner, if the owner's content has not changed since.
 * - former owner: owners that this write removed.
 * - awaited: the last object it owned that was deleted since its own deletion began.
 * - ended below: for a Pod that leads a group, the Pod of the group that was deleted last, if the leader was not written since.
 * - predecessor: the deleted object that had its name and its owner, if the owner still wants it.
 * - namesake: the last deleted object of its name, if nothing else that was read has newer content; one that the writer had written only if
 *   an operator deleted that.
 * - named: what it names in `field`, if that is new; else if what it names changed since the writer last wrote it.
 * - named since: what it names in `field`, if the content of that changed after its own.
 * - ended: what it names in `field`, if that was deleted after its previous version was written.
 * - selected: objects of `resource` in its namespace that its selectors match, or matched before their last change, and that changed since
 *   the writer last wrote it.
 * - selected by it: workloads, Pods and Services of its namespace whose content or labels somebody changed since the writer last wrote it,
 *   and that its selectors match or matched before that.
 * - changed: objects of `resource`, cluster-scoped or (`isBeside`) of its namespace, that changed since its own content did and since the
 *   writer last wrote it; of nodes, those that its `nodeSelector` matches.
 * - users: objects of `resource` that name in `field` either it or what it names in `of`, and that changed since the writer last wrote it.
 * - counted: objects of its namespace, of the resources that it counts, that changed since the writer last wrote it.
 * - admission: what had prevented its creation, if nothing else that was read has newer content: a ServiceAccount, PriorityClass or
 *   RuntimeClass that it names and that was created since its owner's content changed and the writer last acted on what its owner owns;
 *   and, where the API server had refused it, the quotas, LimitRanges, admission policies, webhooks or namespace that refused it and
 *   changed since.
 * - remaining: for a terminating namespace, objects of the resources that remained in it, if deleted since its controller last wrote it.
 * - defined: for a deleted CustomResourceDefinition, the last custom resource that was deleted since the definition was last written.
 * - freed: of the Pods that freed room on its node since the writer last wrote it, the last one: it was deleted, ended, or changed its
 *   labels or requests.
 * - joined: the last Pod of its namespace that runs on a node and whose content changed after its own; one on its own node, if there is
 *   any.
 * - quota: the quota that refused objects of its owner, in the version with which the quota controller last recounted it, if that is newer
 *   than what the writer last did for the owner.
 * - preemptor: the Pods nominated for its node; else the newest Pod without a node: of higher priority, if there is any, else of its
 *   namespace.
 * - referred: what the spec of a custom resource names, if that changed since its controller last wrote the resource.
 * - applied from: the GitOps object that its labels name, if that is new to the writer; else, for a creation, the last deleted object of
 *   its name.
 * - primaries: its primary objects (`primariesNaming`) that changed since the writer last wrote it.
 * - named by primaries: what the spec of its primary objects names, if the content of that changed since the writer last acted for the
 *   primary object.
 * - selected namespace: its namespace, if it belongs to a cluster-scoped primary object and the namespace changed since the writer last
 *   acted for that.
 * - annotated: the Secret, ConfigMap or object of its own resource in another namespace that its labels or annotations name, if the content
 *   of that changed since the writer last wrote it.
 * - made for it: objects whose labels name it, by its kind or under a key of its domain, and that changed since the writer last wrote it.
 * - named just before: what its labels name under their own API group or as `app.kubernetes.io/instance`, what its spec names, the volume
 *   or the claim to which it is bound, and its namespace if that is newer than what the labels name; each if somebody else has just changed
 *   it.
 * - naming just before: custom resources whose `spec` names it or its owners, if somebody else has just changed that and, for a deletion
 *   that only a watch reports, nobody has written their status since; only if nothing else is new.
 * - restored: the last deleted object of its name that its writer had written, if its primary objects have not changed since.
 * - kin: custom resources of its namespace, in the API groups of what a custom controller reconciles, whose content changed since the
 *   controller last acted on it or its owner; only if nothing else is new. Those that the controller reconciles count only if it belongs to
 *   none of them, or is a custom resource of the same group and somebody else has just changed one of another kind. For a new object that
 *   belongs to none: what somebody else has just changed; for the first writes of a controller also kinds that nobody is known to
 *   reconcile.
 * - made for the same: other objects that the writer made for the same owner or primary object and that somebody else changed since; only
 *   if nothing else is new.
 * - done just before: what the writer wrote for the same owner or primary object at most 2 s before; only if nothing else is new.
 * - entries: what it lists in `field`, where an entry was added, removed or changed.
 * - naming: objects of `resource` that name it in `field`; for a series (`isSeries`), that name it without the ordinal at the end of its
 *   name.
 * - namespace: its namespace.
 * - new kin: for a custom resource, others of its API group and namespace that somebody has just changed and that its writer never wrote.
 * - new namespace: its namespace, if that has just changed, and its own content has not since; for a creation, only if nothing else is new.
 * - settings: the ConfigMaps and Secrets from which its Pods take settings, if they have just changed.
 * - just begun: with a watch alone, for an object that belongs to nothing that its writer reconciles: the last change in its namespace that
 *   a person has just begun, if nothing else is new.
 * - successor: for a deletion, what its writer has just made or finished under a name with another number, if it is the oldest that has such
 *   a name; only if nothing else is new.
 * - closed node: for an evicted Pod, its node, if that was cordoned or tainted while the Pod was on it; only if nothing else is new.
 */
export type Reads =
  | { readonly kind: 'owner' }
  | { readonly kind: 'dependents'; readonly resource: string }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'replaced' }
  | { readonly kind: 'edited' }
  | { readonly kind: 'departed'; readonly resource: string }
  | { readonly kind: 'adopted' }
  | { readonly kind: 'former owner' }
  | { readonly kind: 'awaited' }
  | { readonly kind: 'ended below' }
  | { readonly kind: 'fellows' }
  | { readonly kind: 'predecessor' }
  | { readonly kind: 'named'; readonly field: string }
  | { readonly kind: 'named since'; readonly field: string }
  | { readonly kind: 'ended'; readonly field: string }
  | { readonly kind: 'entries'; readonly field: string; readonly print: string }
  | { readonly kind: 'naming'; readonly resource: string; readonly field: string; readonly isSeries?: true }
  | { readonly kind: 'namesake' }
  | { readonly kind: 'namespace' }
  | { readonly kind: 'selected'; readonly resource: string }
  | { readonly kind: 'selected by it' }
  | { readonly kind: 'changed'; readonly resource: string; readonly isBeside?: true }
  | { readonly kind: 'users'; readonly resource: string; readonly field: string; readonly of?: string }
  | { readonly kind: 'counted' }
  | { readonly kind: 'admission' }
  | { readonly kind: 'remaining' }
  | { readonly kind: 'defined' }
  | { readonly kind: 'freed' }
  | { readonly kind: 'joined' }
  | { readonly kind: 'quota' }
  | { readonly kind: 'preemptor' }
  | { readonly kind: 'referred' }
  | { readonly kind: 'applied from' }
  | { readonly kind: 'primaries' }
  | { readonly kind: 'named by primaries' }
  | { readonly kind: 'selected namespace' }
  | { readonly kind: 'annotated' }
  | { readonly kind: 'made for it' }
  | { readonly kind: 'named just before' }
  | { readonly kind: 'naming just before' }
  | { readonly kind: 'restored' }
  | { readonly kind: 'kin' }
  | { readonly kind: 'made for the same' }
  | { readonly kind: 'done just before' }
  | { readonly kind: 'new kin' }
  | { readonly kind: 'new namespace' }
  | { readonly kind: 'settings' }
  | { readonly kind: 'just begun' }
  | { readonly kind: 'successor' }
  | { readonly kind: 'closed node' }
