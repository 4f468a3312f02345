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
  'Reads the audit log from a file, and follows the file when it is rotated.',
  {
    path: requiredField(
      TEXT,
      'path: /var/log/kubernetes/audit.log',
      'The path of the file, as in the API server’s `--audit-log-path`. The API server must write it as `json`.',
    ),
    start_at: field(
      choice(['beginning', 'end']),
      'end',
      'Where to start reading if no position of this log is stored yet. After a restart, reading continues from the stored position.',
    ),
    max_line_size: field(
      size(LEAST_LINE_BYTES),
      '16MiB',
      'The longest audit event that is read. A longer one is skipped and counted.',
    ),
    poll_interval: field(WAIT, '200ms', 'How often the file is checked for new events.'),
  },
  [
    ({ poll_interval }) =>
      poll_interval === 0
        ? { key: 'poll_interval', message: 'must be longer than 0s; write for example 200ms' }
        : undefined,
  ],
)

const webhook = switchedSection(
  'Receives the audit events that the API server posts by its `--audit-webhook-config-file`. It is off unless this key is written.',
  {
    endpoint: field(
      LISTEN_ENDPOINT,
      'localhost:4320',
      'The address and port to listen on. Every URL path is accepted.',
    ),
    tls: serverTls,
    auth: serverAuth,
    max_request_body_size: field(
      size(1),
      '32MiB',
      'The largest list of events that is accepted. The limit holds both before and after decompression.',
    ),
  },
)

const schema = section(
  'Reads the audit log of an API server, which says who wrote what, and exactly when.',
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
  const exposes = 'accepts audit events of the cluster from'
  return { host, port, at: 'webhook', what: 'audit webhook', exposes, ...withoutUndefined({ tls, auth }) }
}
