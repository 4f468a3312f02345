import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { going } from './manifests.ts'

export const make =
  (path: string, object: object) =>
  (api: KubeApi): Promise<unknown> =>
    api.create(path, object)

/** A merge patch. */
export const change =
  (path: string, object: object) =>
  (api: KubeApi): Promise<unknown> =>
    api.patch(path, object)

export const remove =
  (path: string, how: 'Background' | 'Foreground' | 'Orphan' = 'Background') =>
  (api: KubeApi): Promise<unknown> =>
    api.delete(path, going(how))

/** A strategic merge patch. */
export const edit =
  (path: string, object: object) =>
  (api: KubeApi): Promise<unknown> =>
    api.patch(path, object, 'strategic-merge-patch')
