// What the programs of this folder share: each looks at everything upon every event of its watches, and every some seconds. None
// knows anything of changes, and each finds its cluster by KUBECONFIG.
import { setTimeout as pause } from 'node:timers/promises'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'
import type { KubeApi } from '../../../harness/kubernetes/kube-api.ts'

export interface Named {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly generation: number
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
}

const RESYNC_MS = 10_000
const BEFORE_WATCHING_AGAIN_MS = 500

export const apiAs = (program: string): KubeApi =>
  apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', `${program}/v0.0.0 (linux/amd64) kubernetes/$Format`)

/** The path of a resource of a namespace, or of one of its objects. */
export const at = (apiVersion: string, namespace: string, ...path: string[]): string =>
  [all(apiVersion), 'namespaces', namespace, ...path].join('/')

/** The path of a resource in all namespaces. */
export const all = (apiVersion: string, ...path: string[]): string =>
  [apiVersion === 'v1' ? '/api' : '/apis', apiVersion, ...path].join('/')

export async function list<Item>(api: KubeApi, path: string, selector?: string): Promise<Item[]> {
  const query = selector === undefined ? '' : `?${selector}`
  const { items } = await api.get<{ items: Item[] }>(`${path}${query}`)
  return items
}

export const labelled = (label: string): string => `labelSelector=${encodeURIComponent(label)}`

/** Undefined where there is none. */
export const maybe = <Item>(api: KubeApi, path: string): Promise<Item | undefined> =>
  api.get<Item>(path).catch(() => undefined)

export const ownedBy = (apiVersion: string, kind: string, { metadata: { name, uid } }: Named): object[] => [
  { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true },
]

export async function evict(api: KubeApi, { metadata: { name, namespace } }: Named): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
  await api.create(at('v1', namespace, 'pods', name, 'eviction'), eviction).catch(() => undefined)
}

/** Looks one after the other. Events during a look cause one more. A look that fails is made again when the next is due. */
export function looksAgain(
  api: KubeApi,
  watched: readonly string[],
  look: () => Promise<void>,
  everyMs = RESYNC_MS,
): void {
  let last: Promise<void> = Promise.resolve()
  let isQueued = false
  const again = (): void => {
    if (isQueued) return
    isQueued = true
    last = last
      .then(() => {
        isQueued = false
        return look()
      })
      .catch(() => undefined)
  }
  for (const path of watched) void watchAlways(api, path, again)
  setInterval(again, everyMs)
}

async function watchAlways(api: KubeApi, path: string, onEvent: () => void): Promise<void> {
  for (;;) {
    await api.watch(`${path}?watch=true`, onEvent, new AbortController().signal).catch(() => undefined)
    await pause(BEFORE_WATCHING_AGAIN_MS)
  }
}
