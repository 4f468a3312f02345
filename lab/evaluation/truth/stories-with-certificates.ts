import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import type { SeenObject } from './recorder.ts'
import type { Scene, Story } from './story.ts'

const API_VERSION = 'cert-manager.io/v1'
const MANUAL = { type: 'Issuing', status: 'True', reason: 'ManuallyTriggered', message: 'asked for by hand' }
/** It is renewed 35 s after it was issued. */
const RENEWED_SOON = { duration: '1h', renewBefore: '59m25s' }

const issuer = (name: string, spec: object): object => ({
  ...{ apiVersion: API_VERSION, kind: 'Issuer' },
  ...{ metadata: { name }, spec },
})

const certificate = (name: string, by: string, more: object = {}): object => ({
  ...{ apiVersion: API_VERSION, kind: 'Certificate', metadata: { name } },
  spec: {
    ...{ secretName: `${name}-tls`, dnsNames: [`${name}.example.com`] },
    issuerRef: { name: by, kind: 'Issuer' },
    ...more,
  },
})

/** The namespace controller looks again after longer and longer. */
const ENDED_MS = 15_000

type Kind = 'issuers' | 'certificates'

const at = ({ name }: Scene, kind: Kind, ...path: string[]): string =>
  [`/apis/${API_VERSION}/namespaces/${name}/${kind}`, ...path].join('/')

const secret = ({ name }: Scene, of: string): string => `/api/v1/namespaces/${name}/secrets/${of}`

const make =
  (scene: Scene, kind: Kind, object: object) =>
  (api: KubeApi): Promise<unknown> =>
    api.create(at(scene, kind), object)

const SELF_SIGNED = issuer('self', { selfSigned: {} })
const CA = issuer('ca', { ca: { secretName: 'root-tls' } })

/** As `cmctl renew` does. */
async function askForAnother(scene: Scene, api: KubeApi, name: string): Promise<unknown> {
  const path = at(scene, 'certificates', name)
  const { status } = await api.get<SeenObject>(path)
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, '')
  const conditions = [...(status?.conditions ?? []), { ...MANUAL, lastTransitionTime }]
  return api.patch(`${path}/status`, { status: { conditions } })
}

/** Stories for a cluster in which cert-manager runs. */
export const STORIES_WITH_CERTIFICATES: readonly Story[] = [
  {
    name: 'c1-selfsigned',
    play: async (scene) => {
      const { step } = scene
      await step('alice', 'create issuer self', make(scene, 'issuers', SELF_SIGNED))
      await step('bob', 'create certificate web', make(scene, 'certificates', certificate('web', 'self')))
      const names = { spec: { dnsNames: ['web.example.com', 'www.example.com'] } }
      await step('carol', 'change its names', (api) => api.patch(at(scene, 'certificates', 'web'), names))
      await step('alice', 'delete its secret', (api) => api.delete(secret(scene, 'web-tls')))
      const labelled = { metadata: { labels: { a: 'b' } } }
      await step('bob', 'label the issuer', (api) => api.patch(at(scene, 'issuers', 'self'), labelled))
      await step('carol', 'delete certificate web', (api) => api.delete(at(scene, 'certificates', 'web')))
    },
  },
  {
    name: 'c2-authority',
    play: async (scene) => {
      const { step } = scene
      const makeCertificate = (name: string, more?: object): ((api: KubeApi) => Promise<unknown>) =>
        make(scene, 'certificates', certificate(name, more === undefined ? 'ca' : 'self', more))
      await step('alice', 'create issuer self', make(scene, 'issuers', SELF_SIGNED))
      await step('bob', 'create certificate leaf, whose issuer is not there', makeCertificate('leaf'))
      await step(
        'carol',
        'create certificate root',
        makeCertificate('root', { isCA: true, commonName: 'root' }),
      )
      await step('alice', 'create issuer ca', make(scene, 'issuers', CA))
      await step('bob', 'create certificate second', makeCertificate('second'))
      await step('carol', 'delete secret leaf-tls', (api) => api.delete(secret(scene, 'leaf-tls')))
      await step('alice', 'delete issuer ca', (api) => api.delete(at(scene, 'issuers', 'ca')))
      await step('bob', 'create certificate third, whose issuer is gone', makeCertificate('third'))
      await step('carol', 'create issuer ca again', make(scene, 'issuers', CA))
    },
  },
  {
    name: 'c3-renewal',
    play: async (scene) => {
      const { step, byItself } = scene
      const short = certificate('short', 'self', RENEWED_SOON)
      await step('alice', 'create issuer self', make(scene, 'issuers', SELF_SIGNED))
      await step('bob', 'create certificate short', make(scene, 'certificates', short))
      await byItself(
        'the certificate is renewed',
        ({ kind, metadata, status }) =>
          kind === 'Certificate' &&
          metadata.namespace === scene.name &&
          status?.conditions?.some(({ type, status: is }) => type === 'Issuing' && is === 'True') === true,
      )
      await step('carol', 'delete certificate short', (api) => api.delete(at(scene, 'certificates', 'short')))
    },
  },
  {
    name: 'c4-by-hand',
    play: async (scene) => {
      const { step } = scene
      const app = certificate('app', 'self', { privateKey: { rotationPolicy: 'Always' } })
      await step('alice', 'create issuer self', make(scene, 'issuers', SELF_SIGNED))
      await step('bob', 'create certificate app', make(scene, 'certificates', app))
      await step('carol', 'ask for another one', (api) => askForAnother(scene, api, 'app'))
      const labels = { spec: { secretTemplate: { labels: { team: 'x' } } } }
      await step('alice', 'label its secret', (api) => api.patch(at(scene, 'certificates', 'app'), labels))
      const nonsense = { data: { 'tls.crt': Buffer.from('nonsense').toString('base64') } }
      await step('bob', 'spoil its secret', (api) => api.patch(secret(scene, 'app-tls'), nonsense))
    },
  },
  {
    name: 'c5-ended',
    play: async (scene) => {
      const { step, name } = scene
      await step('alice', 'create issuer self', make(scene, 'issuers', SELF_SIGNED))
      await step('bob', 'create certificate web', make(scene, 'certificates', certificate('web', 'self')))
      await step('carol', 'delete the namespace', (api) => api.delete(`/api/v1/namespaces/${name}`), ENDED_MS)
    },
  },
]
