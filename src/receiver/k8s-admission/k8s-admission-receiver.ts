import { componentType } from '../../config/component-type.ts'
import { field, section, type SettingsOf, withoutUndefined } from '../../config/schema.ts'
import { buildServerTls, serverAuth, serverTls } from '../../config/tls-auth-cors.ts'
import { LISTEN_ENDPOINT, size } from '../../config/value-kinds.ts'
import { openServerTls } from '../../platform/tls.ts'
import { clusterName } from '../cluster-settings.ts'
import type { ReceiverType } from '../receiver-type.ts'

const schema = section(
  'Serves a validating admission webhook. It allows every request and records which user is about to write which object. Use it where you cannot read the audit log.',
  {
    cluster: clusterName,
    endpoint: field(
      LISTEN_ENDPOINT,
      'localhost:4321',
      'The address and port to listen on. Every URL path is accepted.',
    ),
    tls: serverTls,
    auth: serverAuth,
    max_request_body_size: field(
      size(1),
      '8MiB',
      'The largest AdmissionReview that is read. A larger one is allowed without being read.',
    ),
  },
)

export type K8sAdmissionSettings = ReturnType<typeof build>

export const k8sAdmissionReceiver: ReceiverType<K8sAdmissionSettings> = {
  ...componentType({
    name: 'k8s_admission',
    schema,
    build,
    warn: ({ tls }) =>
      tls === undefined
        ? [
            {
              key: 'tls',
              message:
                'is left out, and API servers call webhooks over TLS alone; write tls: { cert_file, key_file }, unless a proxy in front speaks TLS',
            },
          ]
        : [],
  }),
  signals: ['traces'],
  listeners: ({ host, port, tls, auth }) => [
    {
      ...{ host, port, what: 'admission webhook', exposes: 'accepts admission reviews from' },
      ...withoutUndefined({ tls, auth }),
    },
  ],
  observes: ({ cluster }) => ({ cluster, what: 'admissions' }),
  openFiles: (id, { tls }, onTrouble) => tls && openServerTls(`receiver ${id}`, tls, onTrouble),
  load: () => import('./start-k8s-admission.ts'),
}

function build(settings: SettingsOf<typeof schema>) {
  const { cluster, endpoint, tls, auth, max_request_body_size: maxBytes } = settings
  return {
    ...{ ...endpoint, cluster, maxBytes },
    ...withoutUndefined({ tls: buildServerTls(tls), auth: auth?.authenticator }),
  }
}
