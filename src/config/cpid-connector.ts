import { FIELD_VALUES, type RelationSettings } from '../model/kubernetes-objects.ts'
import type { LinkingMode } from '../model/linker-settings-and-metrics.ts'
import type { SenderGrants, SenderPolicy } from '../model/otlp-requests.ts'
import type { AdmissionConfig, ConnectorSettings, InferenceConfig } from './causeway-config.ts'
import { componentType, type ConnectorDeclaration } from './component-type.ts'
import {
  field,
  invalid,
  optionalField,
  optionalSection,
  refusedKeys,
  requiredField,
  section,
  sections,
  type SettingsOf,
  type ValueKind,
  withoutUndefined,
} from './schema.ts'
import { perAddressRule } from './tls-auth-cors.ts'
import {
  choice,
  DURATION,
  FLAG,
  POSITIVE_DURATION,
  POSITIVE_WAIT,
  size,
  TEXT,
  TEXT_LIST,
  WAIT,
  wholeNumber,
} from './value-kinds.ts'
import { describeNode, textOf } from './yaml-tree.ts'

const PARTS = ['creation', 'authored', 'status', 'deletion']

const PLURAL = matching('plural', /^[a-z][a-z0-9-]*$/, 'must be the plural of a resource, such as widgets')
const IN_AN_OBJECT = /^(?:\.[\w-]+(?:\[\*\])?)+$/
const WANTED_PLACE = 'must be a place in an object, such as .spec.shop.name or .spec.parts[*].name'
const PLACE = matching('place in an object', IN_AN_OBJECT, WANTED_PLACE)

const relation = section(
  'One relation between a written object and an object that was read for it.',
  {
    resource: requiredField(PLURAL, 'widgets', 'The plural name of the resource that is written.'),
    from: field(
      choice(['owner', 'label', 'annotation', 'field']),
      'owner',
      'How the written object names the object that was read: by its owner reference, a label, an annotation or a field.',
    ),
    name: optionalField(
      TEXT,
      'The key of the label or annotation, or the path of the field, such as `.spec.shop.name` or `.spec.parts[*].name`. It is required unless `from` is `owner`.',
    ),
    of: optionalField(
      PLURAL,
      'The plural name of the resource that was read. It is required unless `from` is `owner`.',
    ),
    namespace: optionalField(
      PLACE,
      'The path of the field that has the namespace of the object that was read. By default that object is in the same namespace, or cluster-scoped.',
    ),
    on: field(
      TEXT_LIST,
      '[creation, authored]',
      'The writes that the relation holds for: `creation`, `authored` (a change of what an author writes, such as `spec`), `status` and `deletion`.',
    ),
    by: optionalField(
      TEXT,
      'The relation holds only for writes of this controller. The name is the `service.name` of its spans.',
    ),
  },
  [
    ({ from, name }) =>
      from !== 'owner' && name === undefined
        ? { key: 'name', message: `is missing; write which ${from} names it, or from: owner` }
        : undefined,
    ({ from, of }) =>
      from !== 'owner' && of === undefined
        ? { key: 'of', message: 'is missing; write the plural of what is named, such as shops' }
        : undefined,
    ({ from, name = '' }) =>
      from === 'field' && name !== '' && !IN_AN_OBJECT.test(name)
        ? { key: 'name', message: `${WANTED_PLACE}, got "${name}"` }
        : undefined,
    ({ on }) => {
      const unknown = on.find((part) => !PARTS.includes(part))
      return unknown === undefined
        ? undefined
        : { key: 'on', message: `has "${unknown}"; write some of ${PARTS.join(', ')}` }
    },
  ],
)

function buildRelation({
  from,
  name,
  of = '',
  namespace,
  resource,
  on,
  by,
}: SettingsOf<typeof relation>): RelationSettings {
  const named = { of, ...withoutUndefined({ [from]: name, namespace }) }
  return { resource, on, from: from === 'owner' ? 'owner' : named, ...withoutUndefined({ by }) }
}

function matching(type: string, pattern: RegExp, wanted: string): ValueKind<string> {
  return {
    type,
    textual: true,
    read: (node) => {
      const text = textOf(node)
      return text !== undefined && pattern.test(text) ? text : invalid(`${wanted}, got ${describeNode(node)}`)
    },
  }
}

const inference = section(
  'How Causeway infers the causes of writes in clusters that its receivers observe.',
  {
    who_wait: field(
      DURATION,
      '2s',
      'How long a write that a watch reported waits for the audit log or the admission webhook to name its user.',
    ),
    telling_wait: field(
      DURATION,
      '7s',
      'How long a write waits for the span in which its writer reports it, if that writer sends such spans. The default exceeds the 5 s after which OpenTelemetry SDKs send a batch.',
    ),
    window: field(
      DURATION,
      '500ms',
      'How long a write waits, at least, for earlier writes that other watches or logs report. If one of these lagged behind the others in the last minute, writes wait twice that lag, up to 5 s.',
    ),
    operators: field(
      TEXT_LIST,
      '[]',
      'Users or services that count as operators, although Causeway would take them for controllers. Each of their writes begins a change. `*` matches any text.',
    ),
    controllers: field(
      TEXT_LIST,
      '[]',
      'Users or services that count as controllers, although Causeway would take them for operators. Their writes follow from what they read. `*` matches any text.',
    ),
    field_values: field(
      choice(FIELD_VALUES),
      'plain',
      'Which field values are stored of each version, so that answers can show what a write changed. `none` stores none. `plain` stores values that hold no secrets, such as numbers, booleans, labels and images, and of other values only that they changed. `all` stores all texts too, except those in Secrets and under names such as `password`.',
    ),
    relations: sections(
      'Which objects controllers of custom resources read before they write, in addition to the relations in docs/inference.md.',
      '[]',
      relation,
    ),
  },
)

function buildInference(settings: SettingsOf<typeof inference>): InferenceConfig {
  return {
    whoWaitMs: settings.who_wait,
    tellingWaitMs: settings.telling_wait,
    windowMs: settings.window,
    operators: settings.operators,
    controllers: settings.controllers,
    fieldValues: settings.field_values,
    relations: settings.relations.map(buildRelation),
  }
}

/** A pattern with the kind of a name, or without one for host names. */
const NAMED = /^(?:(?:dns|uri|cn|email|ip):|[^:@/\s]*$)/

const mergeFrom = section(
  'Which changes the mergelogs of this sender may name as sources. A mergelog joins its own change to its sources.',
  {
    clusters: optionalField(
      TEXT_LIST,
      'The source’s own mergelog must come from one of these `k8s.cluster.name`. The default is `clusters` above.',
    ),
    services: field(
      TEXT_LIST,
      "['*']",
      'The source’s own mergelog must come from one of these `service.name`.',
    ),
    unknown: field(
      choice(['accept', 'refuse']),
      'accept',
      'What happens if the source’s own mergelog has not arrived. `refuse` also refuses honest senders whose mergelog arrives a little before that of its source.',
    ),
  },
)

const grants = (may: 'true' | 'false') => ({
  spans: field(FLAG, may, 'Whether the sender may send spans.'),
  logs: field(FLAG, may, 'Whether the sender may send log records that are not mergelogs.'),
  mergelogs: field(FLAG, may, 'Whether the sender may send mergelogs.'),
  metrics: field(FLAG, may, 'Whether the sender may send metrics.'),
  clusters: field(
    TEXT_LIST,
    "['*']",
    'The `k8s.cluster.name` that its data may have. `*` matches any text, and only `*` alone matches data without this attribute.',
  ),
  services: field(TEXT_LIST, "['*']", 'The `service.name` that its data may have. `*` matches any text.'),
  join: field(
    choice(['any', 'own']),
    'any',
    'Which changes its spans may join. `own` refuses a span whose `cpid.id` is known to belong to another `k8s.cluster.name`, and a span without `cpid.id` takes no such CPID from its parent. `any` allows all changes.',
  ),
  merge_from: mergeFrom,
})

const rule = section('What some senders may send. The first rule that matches a sender applies.', {
  match: section(
    'The senders that the rule applies to. All keys that are written must match.',
    {
      authenticator: optionalField(
        TEXT,
        'The id of the extension that accepted the credential, such as `basicauth/people`. `*` matches any text.',
      ),
      username: optionalField(TEXT, 'The user that logged in with `basicauth`. `*` matches any text.'),
      certificate: optionalField(
        TEXT,
        'A name in the client’s certificate, with its kind: `dns:*.eu.example.com`, `uri:spiffe://example/*`, `cn:*`, `email:*` or `ip:*`. A name without a kind is a `dns:` name.',
      ),
    },
    [
      ({ authenticator, username, certificate }) =>
        (authenticator ?? username ?? certificate) === undefined
          ? {
              key: 'certificate',
              message: 'match needs authenticator, username or certificate; or write it as default',
            }
          : undefined,
      ({ certificate }) =>
        certificate !== undefined && !NAMED.test(certificate)
          ? {
              key: 'certificate',
              message: `is no name of a host, got "${certificate}"; say of which kind it is: cn:${certificate}, uri: or email:`,
            }
          : undefined,
    ],
  ),
  ...grants('true'),
})

const senders = optionalSection(
  'What each sender may send. Without this section every sender may send everything. With it, senders that no rule matches get `default`.',
  {
    rules: sections('The rules. The first one that matches a sender applies.', '[]', rule),
    default: section(
      'What all other senders may send. They may send nothing that is not allowed here.',
      grants('false'),
    ),
  },
)

function buildSenders(settings: SettingsOf<typeof senders>): SenderPolicy | undefined {
  return (
    settings && {
      rules: settings.rules.map(({ match, ...written }) => ({
        match: withoutUndefined(match),
        grants: buildGrants(written),
      })),
      otherwise: buildGrants(settings.default),
    }
  )
}

function buildGrants({ merge_from, ...written }: Omit<SettingsOf<typeof rule>, 'match'>): SenderGrants {
  return {
    ...written,
    mergeFrom: {
      clusters: merge_from.clusters ?? written.clusters,
      services: merge_from.services,
      unknown: merge_from.unknown === 'accept',
    },
  }
}

const admission = section(
  'How much the receivers accept at a time. Requests beyond a limit are refused, and their senders retry them. A sender is identified by its credential, then by its `k8s.cluster.name` and `service.name`.',
  {
    max_in_flight: field(
      size(1),
      '64MiB',
      'The number of bytes that all receivers together may be reading and storing at a time. A single request may be larger.',
    ),
    max_flow_requests: field(
      wholeNumber(1),
      '64',
      'The number of requests that one sender may have waiting while others send too.',
    ),
    max_flow_bytes: field(
      size(1),
      '8MiB',
      'The number of bytes that one sender may have waiting while others send too. It must not exceed `max_in_flight`.',
    ),
    max_connections: field(
      wholeNumber(1),
      '1024',
      'The number of connections to each port of a receiver that may have a request in progress. Further requests are refused, and their senders retry them.',
    ),
    max_connections_per_address: optionalField(
      wholeNumber(1),
      'The same for connections from one address, or from one /64 with IPv6. The default is a quarter of `max_connections`. Raise it if many senders come through one proxy or NAT.',
    ),
    request_timeout: field(
      WAIT,
      '60s',
      'How long a whole gRPC request may take to arrive. `0s` means no limit. For HTTP, `read_timeout` is the limit.',
    ),
  },
  [
    ({ max_in_flight, max_flow_bytes }) =>
      max_flow_bytes > max_in_flight
        ? {
            key: 'max_flow_bytes',
            message: 'must not exceed max_in_flight; write less, or a larger max_in_flight',
          }
        : undefined,
    perAddressRule,
  ],
)

function buildAdmission(settings: SettingsOf<typeof admission>): AdmissionConfig {
  return {
    maxInFlightBytes: settings.max_in_flight,
    maxFlowRequests: settings.max_flow_requests,
    maxFlowBytes: settings.max_flow_bytes,
    maxConnections: settings.max_connections,
    requestTimeoutMs: settings.request_timeout,
    ...withoutUndefined({ maxConnectionsPerAddress: settings.max_connections_per_address }),
  }
}

const FILTER_SPANS: readonly ('drop' | 'keep')[] = ['drop', 'keep']
const MODES: readonly LinkingMode[] = ['cascade', 'links', 'passthrough']

const storage = section('Where the merge graph, the spans and the outbox are stored.', {
  path: field(
    TEXT,
    './data/causeway.db',
    'The path of the SQLite file. A relative path starts at the working directory.',
  ),
  ...refusedKeys(
    'Causeway stores in SQLite alone; write path: ./data/causeway.db instead (for one store of many Causeways see docs/archive.md)',
    'url',
  ),
})

const linking = section(
  'How the spans of one change are joined into one trace.',
  {
    mode: field(
      choice(MODES),
      'cascade',
      'How spans get their traces. `cascade` makes one trace for each root CPID. `links` makes one trace for each CPID and joins them by span links. `passthrough` leaves spans in the traces they were sent in and adds span links.',
    ),
    wait: field(
      DURATION,
      '10s',
      'How long a span may wait for a mergelog, a parent span or the span of a writer that has not arrived.',
    ),
    settle_after: field(
      POSITIVE_DURATION,
      '5m',
      'A trace settles when none of its spans has arrived for this long. It must be longer than `wait`.',
    ),
    max_open: field(
      POSITIVE_DURATION,
      '30m',
      'A trace settles at the latest when it has been open for this long.',
    ),
    max_fanout: field(
      wholeNumber(1),
      '8',
      'The number of root CPIDs that are kept for one CPID. It is also the number of traces that one span can go into.',
    ),
    max_trace_spans: field(
      wholeNumber(1),
      '10000',
      'When a trace has this many spans, further spans go into an episode: a new trace that links back.',
    ),
    max_trace_bytes: field(
      size(1),
      '4MiB',
      'When the spans of a trace have this size, further spans go into an episode: a new trace that links back.',
    ),
  },
  [
    ({ wait, settle_after }) =>
      settle_after <= wait
        ? { key: 'settle_after', message: 'must exceed wait; write a longer settle_after or a shorter wait' }
        : undefined,
  ],
)

const retention = section(
  'How much is kept in the database. When a limit is reached, the oldest changes are pruned until it is kept.',
  {
    max_cpids: field(wholeNumber(0), '1000000', 'The number of CPIDs that are kept. `0` means no limit.'),
    max_age: field(DURATION, '168h', 'The age at which a change is pruned. `0s` means no limit.'),
    max_bytes: field(
      size(0),
      '20GiB',
      'The number of bytes that may be in use in the database. `0` means no limit.',
    ),
    interval: field(WAIT, '60s', 'How often the limits are checked. `0s` means never.'),
  },
)

const metrics = section(
  'What is measured of cascades. These metrics are always served at `/metrics`. A metrics pipeline also sends them.',
  {
    interval: field(
      POSITIVE_WAIT,
      '60s',
      'How often a metrics pipeline sends these metrics. Their temporality is cumulative.',
    ),
    max_series: field(
      wholeNumber(1),
      '500',
      'The number of pairs of service and object kind that one metric has series for. Further pairs are counted as `other`.',
    ),
  },
)

const schema = section(
  'Stores the merge graph and links the spans. It is the exporter of the incoming pipelines and the receiver of the outgoing ones.',
  {
    storage,
    linking,
    retention,
    admission,
    metrics,
    inference,
    senders,
    max_sources: field(
      wholeNumber(1),
      '1024',
      'The number of sources that a mergelog may name. A mergelog with more is refused.',
    ),
    filter_spans: field(
      choice(FILTER_SPANS),
      'drop',
      'What happens to the spans of a Kubernetes API server’s filters, such as `authentication` and `audit`, which are half of all it sends. `drop` removes them and moves their children to their parents. `keep` treats them like other spans.',
    ),
  },
)

export const cpidConnector: ConnectorDeclaration<ConnectorSettings> = {
  ...componentType({
    name: 'cpid',
    schema,
    build: (settings): ConnectorSettings => ({
      storage: { path: settings.storage.path },
      linking: {
        mode: settings.linking.mode,
        waitMs: settings.linking.wait,
        settleAfterMs: settings.linking.settle_after,
        maxOpenMs: settings.linking.max_open,
        maxFanout: settings.linking.max_fanout,
        maxTraceSpans: settings.linking.max_trace_spans,
        maxTraceBytes: settings.linking.max_trace_bytes,
      },
      retention: {
        maxCpids: settings.retention.max_cpids,
        maxAgeMs: settings.retention.max_age,
        maxBytes: settings.retention.max_bytes,
        intervalMs: settings.retention.interval,
      },
      maxSources: settings.max_sources,
      keepsFilters: settings.filter_spans === 'keep',
      admission: buildAdmission(settings.admission),
      metrics: { intervalMs: settings.metrics.interval, maxSeries: settings.metrics.max_series },
      inference: buildInference(settings.inference),
      ...withoutUndefined({ senders: buildSenders(settings.senders) }),
    }),
  }),
  // A mergelog that arrives as a log record may lead to a span.
  pairs: [
    { from: 'traces', to: 'traces' },
    { from: 'logs', to: 'logs' },
    { from: 'logs', to: 'traces' },
    { from: 'traces', to: 'metrics' },
    { from: 'logs', to: 'metrics' },
  ],
}
