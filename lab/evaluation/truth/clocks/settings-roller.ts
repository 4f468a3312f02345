// Rolls out each Deployment that an annotation tells of a ConfigMap, when that changes. It has no custom resource, and does not say what
// program it is.
import { hash } from 'node:crypto'
import { apiOfKubeconfig } from '../../../harness/kubernetes/api-of-kubeconfig.ts'
import { all, at, list, looksAgain, maybe, type Named } from '../programs/looks-again.ts'

interface Deployment extends Named {
  readonly spec: {
    readonly template: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }
  }
}

const SETTINGS = 'roller.example.com/settings'
const SUM = 'roller.example.com/sum'
const DEPLOYMENTS = all('apps/v1', 'deployments')
const api = apiOfKubeconfig(process.env['KUBECONFIG'] ?? '', 'Go-http-client/2.0')

looksAgain(api, [all('v1', 'configmaps'), DEPLOYMENTS], async () => {
  for (const { metadata, spec } of await list<Deployment>(api, DEPLOYMENTS)) {
    const map = metadata.annotations?.[SETTINGS]
    if (map === undefined) continue
    const settings = await maybe<{ data?: object }>(api, at('v1', metadata.namespace, 'configmaps', map))
    const sum = hash('sha256', JSON.stringify(settings?.data ?? {})).slice(0, 12)
    if (spec.template.metadata.annotations?.[SUM] === sum) continue
    const template = { metadata: { annotations: { [SUM]: sum } } }
    await api.patch(at('apps/v1', metadata.namespace, 'deployments', metadata.name), { spec: { template } })
  }
})
