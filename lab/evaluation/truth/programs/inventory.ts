// Keeps a ConfigMap in each namespace with a label that lists its Deployments and Services. It has no custom resource.
import { all, apiAs, at, list, looksAgain, maybe, type Named } from './looks-again.ts'

interface Deployment extends Named {
  readonly spec: { readonly replicas: number }
}
interface ConfigMap extends Named {
  readonly data: object
}

const NAME = 'inventory'

const api = apiAs(NAME)
const WATCHED = [all('v1', 'namespaces'), all('apps/v1', 'deployments'), all('v1', 'services')] as const

async function sumUp({ metadata: { name: namespace, labels } }: Named): Promise<void> {
  const maps = at('v1', namespace, 'configmaps')
  const there = await maybe<ConfigMap>(api, `${maps}/${NAME}`)
  if (labels?.['inventory'] !== 'yes') {
    if (there !== undefined) await api.delete(`${maps}/${NAME}`)
    return
  }
  const deployments = await list<Deployment>(api, at('apps/v1', namespace, 'deployments'))
  const services = await list<Named>(api, at('v1', namespace, 'services'))
  const data = {
    deployments: deployments.map(({ metadata, spec }) => `${metadata.name}:${spec.replicas}`).join(' '),
    services: services.map(({ metadata }) => metadata.name).join(' '),
  }
  if (there === undefined) await api.create(maps, { metadata: { name: NAME }, data })
  else if (JSON.stringify(there.data) !== JSON.stringify(data)) await api.patch(`${maps}/${NAME}`, { data })
}

async function look(): Promise<void> {
  const namespaces = await list<Named>(api, WATCHED[0])
  for (const one of namespaces) if (one.metadata.deletionTimestamp === undefined) await sumUp(one)
}

looksAgain(api, WATCHED, look)
