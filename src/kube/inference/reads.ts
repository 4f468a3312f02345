/**
 * What is read, relative to the written object:
 * - owner: its owners.
 * - dependents: objects of a resource that it owns and that changed since the writer last wrote it.
 * - leaving: objects of its owner that began to terminate, or finished, since the writer last acted on what that owner owns.
 * - replaced: objects of its owner that had its template, and went since the writer last acted on what that owner owns.
 * - edited: objects of its owner that somebody else edited since the writer last acted on what that owner owns, or since its owner
 *   changed.
 * - fellows: objects of its owner that changed since the writer last wrote it.
 * - departed: objects that its owner no longer has, since the writer last acted on what that owner owns.
 * - adopted: what the writer last gave to its owner, if nothing else is new.
 * - former owner: objects that owned it before and no longer do.
 * - awaited: the last of what it owned that went since it began to terminate.
 * - ended below: of the Pods of what it owns, or of what an object owned that had its name, the one that began to go last, if nothing was
 *   written of it since.
 * - predecessor: an object that had its name and its owner, and is gone.
 * - namesake: an object that had its name, and went after what it is made for was changed; one of the writer's own only if an operator deleted it.
 * - named: what its content names as `field`, if that is new; else those that changed since the writer last wrote it.
 * - named since: what its content names as `field` and whose content changed since its own did.
 * - ended: of what its content names as `field`, the object that went last.
 * - selected: objects of a resource that its labels select or selected, and that changed since the writer last wrote it.
 * - selected by it: workloads, Pods and Services of its namespace that its selectors fit or fitted, and that somebody changed since the writer
 *   last wrote it.
 * - changed: objects of a resource, in the whole cluster or in its namespace, that changed since the writer last wrote it.
 * - users: objects of a resource that name it as `field`, or name what it names as `of`, and changed since the writer last wrote it.
 * - counted: objects of its namespace and of the resources it counts that changed since the writer last wrote it.
 * - admission: what had kept it from being made, if nothing else is as new: an account or a class that it names and that was created since
 *   its owner's content changed and the writer last acted on what its owner owns; and, where the API server had refused it, the quotas,
 *   ranges of limits, admission policies or labels of its namespace that refused it and changed since.
 * - remaining: what was left in a terminating namespace when its controller last wrote it, and has gone since.
 * - defined: the last custom resource of a deleted CustomResourceDefinition that went since the definition was written last.
 * - freed: of its destination, the Pod that last made room while it waited for that: it went, ended, or got other labels or resources.
 * - joined: a Pod of its namespace that began to run, or got other labels, while it waited for others; one on its node, if there is any.
 * - quota: a quota that refused what its owner wants, as its controller counted it again since the writer last acted on what its owner owns.
 * - preemptor: the Pod that is to run in its place.
 * - referred: what the spec of a custom resource names and what changed since its controller last wrote it.
 * - applied from: what its labels name as its source, if that changed or has another revision; else an object that had its name and went.
 * - primaries: objects that a custom controller reconciles and that changed since it last wrote the object. They name the object, are
 *   named by its labels and annotations, own its owner, or, if it has no owner, have a name that is part of its own. What labels and name
 *   of its highest owner lead to counts too.
 * - made for it: objects of which a label names it by its kind, or under a key of its own domain, and that changed since the writer last
 *   wrote it.
 * - named just before: what its labels name under their own API group or as `app.kubernetes.io/instance`, what its spec names, the volume
 *   or the claim that it is bound to, and its namespace if that is newer than what the labels name; each if somebody else has just changed
 *   it.
 * - naming just before: custom resources that name it or its owners in their `spec`, if somebody else has just changed that, and, with a watch
 *   alone, nobody has written their status since; only if nothing else is new.
 * - restored: an object that had its name, that its writer had written, and that somebody deleted since.
 * - kin: custom resources of its namespace, in the API groups of what a custom controller reconciles, whose content changed since the
 *   controller last acted on the object or its owner; only if nothing else is new. What the controller reconciles counts only if the
 *   object belongs to none of it. For a new object that belongs to none: what somebody else has just changed, and for the first writes of a
 *   controller also kinds that nobody is known to reconcile.
 * - made for the same: other objects that the writer made for the same primary object and that somebody else changed since; only if nothing
 *   else is new.
 * - done just before: what the writer wrote for the same owner at most 2 s before; only if nothing else is new.
 * - entries: what its content lists as `field`, if the list says something else than before.
 * - naming: objects of a resource whose content names it as `field`; for a series, without the number at the end of its name.
 * - namespace: its namespace.
 * - new kin: for a custom resource, others of its API group and namespace that somebody has just changed, and its writer never wrote.
 * - new namespace: its namespace, if that has just changed, and the object itself has not changed since; only if nothing else is new.
 * - settings: the ConfigMaps and Secrets that its Pods take settings from, if they have just changed.
 * - closed node: of a Pod that is evicted, the node, if somebody closed that to new Pods while the Pod was on it; only if nothing else is new.
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
  | { readonly kind: 'closed node' }
