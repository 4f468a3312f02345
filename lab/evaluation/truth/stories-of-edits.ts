import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, make, remove } from './deeds.ts'
import { deployment, service, withImage, withLabels, withReplicas } from './manifests.ts'
import type { Story } from './story.ts'

const LONG_MS = 9_000
const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1'
const SIGNING = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const NETWORK = '/apis/networking.k8s.io/v1'

interface Editable {
  metadata: {
    name: string
    resourceVersion?: string
    labels?: Record<string, string>
    managedFields?: unknown
  }
  spec: { replicas: number; paused?: boolean; template: { spec: { containers: { image: string }[] } } }
  status?: object
}

/** As `kubectl edit` and `kubectl replace` do: the whole object goes back. */
const replace =
  (path: string, edited: (object: Editable) => void) =>
  async (api: KubeApi): Promise<unknown> => {
    const object = await api.get<Editable>(path)
    edited(object)
    return api.replace(path, object)
  }

const json =
  (path: string, ...operations: object[]) =>
  (api: KubeApi) =>
    api.patch(path, operations, 'json-patch')

/** Stories of whole objects that go back edited, of JSON patches, and of what people write that controllers write else. */
export const STORIES_OF_EDITS: readonly Story[] = [
  {
    name: 'sa-edited',
    play: async ({ step, at, aPod, list }) => {
      const web = at('deployments', 'web')
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step(
        'bob',
        'edit its image',
        replace(web, ({ spec }) => (spec.template.spec.containers[0]!.image = 'i:2')),
        LONG_MS,
      )
      await step(
        'carol',
        'replace it with 3',
        async (api) => {
          const object = await api.get<Editable>(web)
          delete object.metadata.resourceVersion
          delete object.status
          object.spec.replicas = 3
          return api.replace(web, object)
        },
        LONG_MS,
      )
      await step(
        'alice',
        'scale it by json patch',
        json(web, { op: 'replace', path: '/spec/replicas', value: 1 }),
        LONG_MS,
      )
      await step(
        'bob',
        'patch its image by json patch',
        json(web, { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'i:3' }),
        LONG_MS,
      )
      await step('carol', 'undo', edit(web, withImage('i:2')), LONG_MS)
      await step('alice', 'undo again', edit(web, withImage('i:3')), LONG_MS)
      await step(
        'bob',
        'label and scale it in one edit',
        replace(web, (object) => {
          object.metadata.labels = { ...object.metadata.labels, tier: 'x' }
          object.spec.replicas = 2
        }),
        LONG_MS,
      )
      await step('carol', 'scale by scale', change(`${web}/scale`, withReplicas(3)), LONG_MS)
      await step(
        'alice',
        'replace a pod status by hand',
        async (api) => {
          const pod = await aPod()
          return api.patch(`${at('pods', pod)}/status`, {
            status: { conditions: [{ type: 'Ready', status: 'False' }] },
          })
        },
        LONG_MS,
      )
      await step(
        'bob',
        'write a status by hand',
        change(`${web}/status`, { status: { readyReplicas: 1 } }),
        LONG_MS,
      )
      await step(
        'carol',
        'scale its replica set, which is undone',
        async (api) => {
          const sets = await list<Editable & { metadata: { name: string } }>('replicasets')
          const live = sets.find(({ spec }) => spec.replicas > 0)
          return api.patch(`${at('replicasets', live!.metadata.name)}/scale`, withReplicas(5))
        },
        LONG_MS,
      )
      await step(
        'alice',
        'delete an old replica set',
        async (api) => {
          const sets = await list<Editable & { metadata: { name: string } }>('replicasets')
          const old = sets.find(({ spec }) => spec.replicas === 0)
          return api.delete(at('replicasets', old!.metadata.name))
        },
        LONG_MS,
      )
      await step('bob', 'keep no history', change(web, { spec: { revisionHistoryLimit: 0 } }), LONG_MS)
      await step('carol', 'delete deployment web', remove(web, 'Foreground'), LONG_MS)
    },
  },
  {
    name: 'sb-endpoints',
    play: async ({ name, step, at, aPod }) => {
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${name}/endpointslices`
      const web = at('deployments', 'web')
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('bob', 'create service web', make(at('services'), service('web')))
      await step(
        'carol',
        'create service bare',
        make(at('services'), { metadata: { name: 'bare' }, spec: { ports: [{ port: 80 }] } }),
      )
      await step(
        'alice',
        'create a slice of it',
        make(slices, {
          metadata: { name: 'bare-1', labels: { 'kubernetes.io/service-name': 'bare' } },
          ...{ addressType: 'IPv4', ports: [{ port: 80 }], endpoints: [{ addresses: ['10.9.9.9'] }] },
        }),
      )
      await step(
        'bob',
        'change the slice',
        change(`${slices}/bare-1`, { endpoints: [{ addresses: ['10.9.9.8'] }] }),
      )
      await step(
        'carol',
        'give bare a selector',
        change(at('services', 'bare'), { spec: { selector: { app: 'web' } } }),
      )
      await step('alice', 'delete the slice', remove(`${slices}/bare-1`))
      await step(
        'bob',
        'change ports of web',
        change(at('services', 'web'), { spec: { ports: [{ port: 81 }] } }),
      )
      await step(
        'carol',
        'make web a node port',
        change(at('services', 'web'), { spec: { type: 'NodePort' } }),
      )
      await step(
        'alice',
        'publish what is not ready',
        change(at('services', 'web'), { spec: { publishNotReadyAddresses: true } }),
      )
      await step('bob', 'edit a controller slice', async (api) => {
        const { items } = await api.get<{
          items: { metadata: { name: string; labels: Record<string, string> } }[]
        }>(slices)
        const of = items.find(({ metadata }) => metadata.labels['kubernetes.io/service-name'] === 'web')
        return api.patch(`${slices}/${of!.metadata.name}`, { endpoints: [] })
      })
      await step(
        'carol',
        'label a pod out of the service',
        async (api) => api.patch(at('pods', await aPod()), withLabels({ app: 'other' })),
        LONG_MS,
      )
      await step('alice', 'scale web to 1', change(web, withReplicas(1)), LONG_MS)
      await step(
        'bob',
        'add an ingress',
        make(at('ingresses'), {
          metadata: { name: 'in' },
          spec: { defaultBackend: { service: { name: 'web', port: { number: 81 } } } },
        }),
      )
      await step(
        'carol',
        'write its status by hand',
        change(`${at('ingresses', 'in')}/status`, {
          status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
        }),
      )
      await step('alice', 'delete service web', remove(at('services', 'web')))
      await step(
        'bob',
        'make bare external',
        change(at('services', 'bare'), {
          spec: {
            type: 'ExternalName',
            externalName: 'a.b',
            clusterIP: '',
            clusterIPs: null,
            selector: null,
          },
        }),
      )
      await step('carol', 'delete service bare', remove(at('services', 'bare')))
    },
  },
  {
    name: 'sc-signed',
    play: async ({ step }) => {
      const one = `${SIGNING}/sc-one`
      const flow = {
        metadata: { name: 'sc-flow' },
        spec: {
          matchingPrecedence: 900,
          priorityLevelConfiguration: { name: 'sc-level' },
          rules: [
            {
              subjects: [{ kind: 'User', user: { name: 'nobody' } }],
              nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/x'] }],
            },
          ],
        },
      }
      await step('alice', 'create a flow schema of no level', make(`${FLOW}/flowschemas`, flow))
      await step(
        'bob',
        'create its level',
        make(`${FLOW}/prioritylevelconfigurations`, {
          metadata: { name: 'sc-level' },
          spec: {
            type: 'Limited',
            limited: { nominalConcurrencyShares: 5, limitResponse: { type: 'Reject' } },
          },
        }),
        LONG_MS,
      )
      await step(
        'carol',
        'change the level',
        change(`${FLOW}/prioritylevelconfigurations/sc-level`, {
          spec: { limited: { nominalConcurrencyShares: 7 } },
        }),
      )
      await step('alice', 'delete the level', remove(`${FLOW}/prioritylevelconfigurations/sc-level`), LONG_MS)
      await step('bob', 'delete the flow schema', remove(`${FLOW}/flowschemas/sc-flow`), LONG_MS)
      await step(
        'carol',
        'ask for a certificate',
        make(SIGNING, {
          metadata: { name: 'sc-one' },
          spec: {
            request: Buffer.from(REQUEST).toString('base64'),
            signerName: 'kubernetes.io/kube-apiserver-client',
            usages: ['client auth'],
          },
        }),
      )
      await step(
        'alice',
        'approve it',
        async (api) => {
          const object = await api.get<{ status: object }>(one)
          object.status = {
            conditions: [{ type: 'Approved', status: 'True', reason: 'yes', message: 'yes' }],
          }
          return api.replace(`${one}/approval`, object)
        },
        LONG_MS,
      )
      await step('bob', 'delete the request', remove(one))
      await step(
        'carol',
        'add service addresses',
        make(`${NETWORK}/servicecidrs`, { metadata: { name: 'sc-cidr' }, spec: { cidrs: ['10.77.0.0/24'] } }),
        LONG_MS,
      )
      await step('alice', 'delete service addresses', remove(`${NETWORK}/servicecidrs/sc-cidr`), LONG_MS)
    },
  },
]

const REQUEST = `-----BEGIN CERTIFICATE REQUEST-----
MIICUjCCAToCAQAwDTELMAkGA1UEAwwCc2MwggEiMA0GCSqGSIb3DQEBAQUAA4IB
DwAwggEKAoIBAQCkIHhXTV4LWe4SOYqQg/ihv0hHq6PQJ8jMznAyigQzPxEk0Pp7
ionndhTrGOmtuwqb4y5pHEtw+2k3NroPHI2ewiHV7IqPV+3i9QIaQgcCeNypEFoz
VfPSu34ULb/hSQepTkhbKMb5lgcq83OTCymNXFifqnsnx2pr//4IqGhvKyLveSA+
z4J6XrGFl9QIzI8h8JsOxY2mBbSCvH6ffQmz2UawZ+ti8N9YLaDENzpFSf0q9xeP
oLz6ZMyJ8acDSMsmo5Ln6u+/YFYwOUfoJZ5bj8ukAMHyHWZDw28vREseaZ4VRXXZ
5VQY6W64TVJ9WnQhKn2E2BdDmKKHgoRXJ1XDAgMBAAGgADANBgkqhkiG9w0BAQsF
AAOCAQEAEJUpjZdKZGp+brvL9oaBvIuCAL0shGUuid3BBm8ZvpIK/xx6h+7O2Ol/
FCtVTBB7IDd6Be/x5b6aqgKqCBobfSOIL3kAa0l91oIPZCE0T/JW7XBO7X/A86Ye
H/rYsQfQfhS2PvGp2dR0O9qlNcrDbzMESO1BQ7ajS/dhTWzjcLmBFcs9BWWdWQzN
b9BII5r1139L3oHvTgGk2sDlPWwiOTWICcUfIWpJxMa/QHfAGwcDPh/fl5dAFz90
dnA03s7KjKoM7Jzmhj08suKhHz4ghCXxiZgsP0ocl+9A85hNBCLJcMpZDl0ysug8
7w8ov7iwIT76fHEEt9jHTGZ4cMKIRA==
-----END CERTIFICATE REQUEST-----
`
