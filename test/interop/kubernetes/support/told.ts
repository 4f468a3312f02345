/** What somebody began, and what became of it, as far as its cascade tells. */
export interface ToldCascade {
  /** `scale deployments/web`; `by itself: …` where a controller began it by itself. */
  readonly began: string
  /** Who did; empty where no source tells, and where nobody did. */
  readonly by: string
  /** Whose writes it drove, by name; kwok is a kubelet. */
  readonly services: readonly string[]
  /** How many objects of which resource those wrote. */
  readonly objects: Readonly<Record<string, number>>
  /** What each of those writes hangs below, all of a kind together: `create pods` below `create replicasets`. Not told of statuses. */
  readonly below: Readonly<Record<string, readonly string[]>>
  /** Versions came before some of those writes that nobody saw. */
  readonly hasGaps: boolean
}

/** What was told of everything in one namespace. */
export interface Told {
  /** In the order in which they began; not those by which the scene was set. */
  readonly cascades: readonly ToldCascade[]
  /**
   * For each object of a resource, what its newest version comes from: how its roots began, by name. What is the same for several
   * stands there once.
   */
  rootsOf(resource: string): readonly (readonly string[])[]
}

const SCENE = /^create (?:namespaces|serviceaccounts|clusterrolebindings|rolebindings)\//

/** Whether this is what the story is about, and no preparation of it. */
export function isOfStory(began: string): boolean {
  return !SCENE.test(began)
}

/** `scale deployments/web`, from the verb of the write that began it. */
export function whatBegan(verb: string, resource: string, name: string): string {
  const words: Readonly<Record<string, string>> = { patch: 'change', update: 'change' }
  // What generated names end with is another one every time.
  const shown =
    resource === 'pods' ? name.replace(/(-[a-z0-9]{6,10})?-[a-z0-9]{5}$/, '-…') : scheduledName(name)
  return `${words[verb] ?? verb} ${resource}/${shown}`
}

/** What a schedule makes is named after its minute. */
function scheduledName(name: string): string {
  return name.replace(/-\d{8}$/, '-…')
}

export function serviceShown(service: string): string {
  return service === 'kwok' ? 'kubelet' : service
}
