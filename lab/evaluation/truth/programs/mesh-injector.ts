// Gives the Deployments of namespaces with a label a sidecar, of the version that a ConfigMap of the namespace says. It has no custom
// resource.
import { all, apiAs, at, list, looksAgain, maybe, type Named } from './looks-again.ts'

interface Deployment extends Named {
  readonly spec: { readonly template: { readonly metadata: Pick<Named['metadata'], 'labels'> } }
}
interface Settings extends Named {
  readonly data?: { readonly version?: string }
}

const VERSION = 'mesh.example.com/version'

const api = apiAs('mesh-injector')
const WATCHED = [all('v1', 'namespaces'), all('apps/v1', 'deployments'), all('v1', 'configmaps')] as const

/** A strategic patch that sets the sidecar, or takes it away. */
const withSidecar = (version: string | null): object => ({
  spec: {
    template: {
      metadata: { labels: { [VERSION]: version } },
      spec: {
        containers: [
          version === null
            ? { name: 'sidecar', $patch: 'delete' }
            : { name: 'sidecar', image: `mesh:${version}` },
        ],
      },
    },
  },
})

async function inject({ metadata: { name: namespace, labels } }: Named): Promise<void> {
  const settings = await maybe<Settings>(api, at('v1', namespace, 'configmaps', 'mesh-config'))
  const wanted = labels?.['mesh'] === 'on' ? (settings?.data?.version ?? '1') : null
  for (const { metadata, spec } of await list<Deployment>(api, at('apps/v1', namespace, 'deployments'))) {
    const has = spec.template.metadata.labels?.[VERSION] ?? null
    if (has === wanted) continue
    const path = at('apps/v1', namespace, 'deployments', metadata.name)
    await api.patch(path, withSidecar(wanted), 'strategic-merge-patch')
  }
}

async function look(): Promise<void> {
  const namespaces = await list<Named>(api, WATCHED[0])
  for (const one of namespaces) if (one.metadata.deletionTimestamp === undefined) await inject(one)
}

looksAgain(api, WATCHED, look)
