import type { DeclaredListener } from '../../config/causeway-config.ts'
import { componentType } from '../../config/component-type.ts'
import {
  field,
  optionalSection,
  requiredField,
  section,
  type SettingsOf,
  switchedSection,
  withoutUndefined,
} from '../../config/schema.ts'
import { buildServerTls, serverAuth, serverTls } from '../../config/tls-auth-cors.ts'
import { choice, LISTEN_ENDPOINT, size, TEXT, WAIT } from '../../config/value-kinds.ts'
import { openServerTls } from '../../platform/tls.ts'
import { clusterName } from '../cluster-settings.ts'
import type { ReceiverType } from '../receiver-type.ts'

const LEAST_LINE_BYTES = 4_096

const log = optionalSection(
  'A file of the audit log, which is followed through its rotation.',
  {
    path: requiredField(
      TEXT,
      'path: /var/log/kubernetes/audit.log',
      'The `--audit-log-path` of the API server; its format has to be `json`.',
    ),
    start_at: field(
      choice(['beginning', 'end']),
      'end',
      'Where to start in a log without a stored position; a restart continues from that position.',
    ),
    max_line_size: field(
      size(LEAST_LINE_BYTES),
      '16MiB',
      'The longest event that is read; longer ones are skipped and counted.',
    ),
    poll_interval: field(WAIT, '200ms', 'How often to check the file for new events.'),
  },
  [
    ({ poll_interval }) =>
      poll_interval === 0
        ? { key: 'poll_interval', message: 'must be longer than 0s; write for example 200ms' }
        : undefined,
  ],
)

const webhook = switchedSection(
  'Takes what the API server posts by `--audit-webhook-config-file`. Off unless named.',
  {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4320', 'Where to listen; any path is taken.'),
    tls: serverTls,
    auth: serverAuth,
    max_request_body_size: field(size(1), '32MiB', 'Largest list of events, before and after decompression.'),
  },
)

const schema = section(
  'Takes the audit log of an API server: who wrote what, and exactly when.',
  { cluster: clusterName, log, webhook },
  [
    (settings) =>
      settings.log === undefined && settings.webhook === undefined
        ? { key: 'log', message: 'is missing, and webhook is too; write log: { path: … } or webhook:' }
        : undefined,
  ],
)

export type K8sAuditSettings = ReturnType<typeof build>
export type AuditLogSettings = NonNullable<K8sAuditSettings['log']>
export type AuditWebhookConfig = NonNullable<K8sAuditSettings['webhook']>

export const k8sAuditReceiver: ReceiverType<K8sAuditSettings> = {
  ...componentType({ name: 'k8s_audit', schema, build }),
  signals: ['traces'],
  listeners: ({ webhook: listens }) => (listens === undefined ? [] : [listenerOf(listens)]),
  observes: ({ cluster }) => ({ cluster, what: 'requests' }),
  openFiles(id, { webhook: listens }, onTrouble) {
    return listens?.tls && openServerTls(`receiver ${id}`, listens.tls, onTrouble)
  },
  async *examine(id, settings) {
    const { examineAudit } = await import('./examine-audit.ts')
    yield* examineAudit(id, settings)
  },
  load: () => import('./start-k8s-audit.ts'),
}

function build({ cluster, log: file, webhook: listens }: SettingsOf<typeof schema>) {
  return {
    cluster,
    ...withoutUndefined({
      log: file && {
        path: file.path,
        startAt: file.start_at,
        maxLineBytes: file.max_line_size,
        pollMs: file.poll_interval,
      },
      webhook: listens && {
        ...listens.endpoint,
        maxBytes: listens.max_request_body_size,
        ...withoutUndefined({ tls: buildServerTls(listens.tls), auth: listens.auth?.authenticator }),
      },
    }),
  }
}

function listenerOf({ host, port, tls, auth }: AuditWebhookConfig): DeclaredListener {
  const exposes = 'takes who wrote what in the cluster from'
  return { host, port, at: 'webhook', what: 'audit webhook', exposes, ...withoutUndefined({ tls, auth }) }
}
