import type { KubeObject, Resource, Resources } from './kube-objects.ts'
import type { Stage } from './stage.ts'

/** The newest state a controller has seen of the objects it watches. */
export class View {
  readonly #objects = new Map<string, KubeObject>()

  all<R extends Resource>(resource: R): Resources[R][] {
    const found = [...this.#objects].filter(([key]) => key.startsWith(`${resource}/`))
    return found.map(([, object]) => object as Resources[R])
  }

  /** Takes in what was seen or written, unless something newer is known: a watch lags behind one's own writes. */
  keep<R extends Resource>(resource: R, object: Resources[R]): void {
    const key = `${resource}/${object.metadata.name}`
    const known = Number(this.#objects.get(key)?.metadata.resourceVersion ?? 0)
    if (Number(object.metadata.resourceVersion) > known) this.#objects.set(key, object)
  }
}

/** Reconciles after every change of these resources, one reconcile at a time, until the demo is over. */
export async function keepReconciling(
  { client, signal, report }: Stage,
  resources: readonly Resource[],
  reconcile: (view: View) => Promise<void>,
): Promise<void> {
  const view = new View()
  let turn = Promise.resolve()
  const follow = async (resource: Resource) => {
    for (let version = 0; !signal.aborted;) {
      const page = await client.watch(resource, version, signal)
      version = page.resourceVersion
      for (const object of page.items) view.keep(resource, object)
      if (page.items.length > 0) await (turn = turn.then(() => reconcile(view)))
    }
  }
  const following = resources.map(follow)
  report({ kind: 'ready' })
  await Promise.all(following)
}
