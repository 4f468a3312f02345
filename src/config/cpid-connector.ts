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
  'One relation.',
  {
    resource: requiredField(
      PLURAL,
      'widgets',
      'The resource, in the plural, whose writes the relation is about.',
    ),
    from: field(
      choice(['owner', 'label', 'annotation', 'field']),
      'owner',
      'Which object was read: what owns it, or what its label, its annotation or a field of it names.',
    ),
    name: optionalField(
      TEXT,
      'The label, the annotation, or the place of the field: `.spec.shop.name`, `.spec.parts[*].name`. Needed but for an owner.',
    ),
    of: optionalField(PLURAL, 'The plural of what is named. Needed but for an owner.'),
    namespace: optionalField(
      PLACE,
      'Where the namespace of what is named stands; left out, it is in the same namespace or in none.',
    ),
    on: field(TEXT_LIST, '[creation, authored]', 'Of which writes: creation, authored, status, deletion.'),
    by: optionalField(TEXT, 'Only of writes of this controller, by the name that its spans have.'),
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
  'How is worked out what caused the writes of clusters that receivers see from outside.',
  {
    who_wait: field(
      DURATION,
      '2s',
      'How long a write that a watch saw waits for the audit log or admission to say who made it.',
    ),
    telling_wait: field(
      DURATION,
      '7s',
      'How long a write waits for the span of the program that made it, where that program sends such spans; SDKs send them every 5 s.',
    ),
    window: field(
      DURATION,
      '500ms',
      'How long a write waits, at least, for earlier writes from other streams. If a stream was behind the others in the last minute, it waits twice that lag, up to 5 s.',
    ),
    operators: field(
      TEXT_LIST,
      '[]',
      'Users or services whose writes begin changes, though they look like controllers; `*` stands for anything.',
    ),
    controllers: field(
      TEXT_LIST,
      '[]',
      'Users or services whose writes follow from what they read, though they look like people.',
    ),
    field_values: field(
      choice(FIELD_VALUES),
      'plain',
      'Which values of fields are kept of each version, so that answers show what a write changed: `none`; `plain`, those that hold no secrets (numbers, truth values, labels, images and the like), of others only that they changed; `all`, other texts too, except in Secrets and under names such as `password`.',
    ),
    relations: sections(
      'What writes of custom resources follow from, beside what docs/inference.md lists.',
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
  'Whose changes its mergelogs may name as sources, so that theirs and its own are joined.',
  {
    clusters: optionalField(
      TEXT_LIST,
      'By the `k8s.cluster.name` that sent the mergelog of that change; left out, the same as `clusters` above.',
    ),
    services: field(TEXT_LIST, "['*']", 'By the `service.name` that sent it.'),
    unknown: field(
      choice(['accept', 'refuse']),
      'accept',
      'Changes whose own mergelog has not arrived. It may come a little later, so that `refuse` also refuses honest senders.',
    ),
  },
)

const grants = (may: 'true' | 'false') => ({
  spans: field(FLAG, may, 'It may send spans.'),
  logs: field(FLAG, may, 'It may send log records that are no mergelogs.'),
  mergelogs: field(FLAG, may, 'It may send mergelogs.'),
  metrics: field(FLAG, may, 'It may send metrics.'),
  clusters: field(
    TEXT_LIST,
    "['*']",
    'For which `k8s.cluster.name`; `*` stands for anything, and only it fits where a sender names no cluster.',
  ),
  services: field(TEXT_LIST, "['*']", 'For which `service.name`.'),
  join: field(
    choice(['any', 'own']),
    'any',
    'Which changes its spans may join by `cpid.id`: `own` refuses spans of one known to be of another `k8s.cluster.name`, and lets spans without one take none such from a parent.',
  ),
  merge_from: mergeFrom,
})

const rule = section('What some senders may send. The first rule that fits a sender counts.', {
  match: section(
    'Which senders; what is given has to fit.',
    {
      authenticator: optionalField(
        TEXT,
        'The extension that knew the credential, by id, as in `basicauth/*`.',
      ),
      username: optionalField(TEXT, 'The user that logged in by `basicauth`.'),
      certificate: optionalField(
        TEXT,
        'A name in the client’s certificate, with its kind: `dns:*.eu.example.com`, `uri:spiffe://example/*`, `cn:*`, `email:*` or ' +
          '`ip:*`; without one `dns:` is meant.',
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
  'Who may send what. Left out, everybody may send everything; written, whoever no rule fits has `default`.',
  {
    rules: sections('Rules, the first that fits first.', '[]', rule),
    default: section('What everybody else may send: nothing, unless this says so.', grants('false')),
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
  'How much is taken in at a time; what is more is refused for now, and comes again. A sender is told apart by its ' +
    'credential, then by `k8s.cluster.name` and `service.name`.',
  {
    max_in_flight: field(
      size(1),
      '64MiB',
      'Most bytes of requests being read and stored, over all receivers. One request alone may be larger.',
    ),
    max_flow_requests: field(
      wholeNumber(1),
      '64',
      'Most requests of one sender waiting while others send too.',
    ),
    max_flow_bytes: field(
      size(1),
      '8MiB',
      'Most bytes of one sender waiting while others send too. Must not exceed `max_in_flight`.',
    ),
    max_connections: field(
      wholeNumber(1),
      '1024',
      'Most connections to each port of a receiver with a request under way; further requests are refused for now.',
    ),
    max_connections_per_address: optionalField(
      wholeNumber(1),
      'Most of them from one address, for IPv6 from one /64; left out, a quarter of `max_connections`. Raise it where many ' +
        'senders come through one proxy or NAT.',
    ),
    request_timeout: field(
      WAIT,
      '60s',
      'How long a request over gRPC may take to arrive; 0s means for ever. Over HTTP `read_timeout` says so.',
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

const storage = section('Where the merge graph is kept.', {
  path: field(
    TEXT,
    './data/causeway.db',
    'The SQLite file. A relative path starts at the working directory.',
  ),
  ...refusedKeys(
    'Causeway stores in SQLite alone; write path: ./data/causeway.db instead (for one store of many Causeways see docs/archive.md)',
    'url',
  ),
})

const linking = section(
  'How spans of one change become one trace.',
  {
    mode: field(
      choice(MODES),
      'cascade',
      '`cascade`: one trace per root CPID. `links`: one trace per CPID, joined by links. `passthrough`: traces stay as sent and gain links.',
    ),
    wait: field(
      DURATION,
      '10s',
      'How long a span may wait for a mergelog, parent or writer that has not arrived.',
    ),
    settle_after: field(
      POSITIVE_DURATION,
      '5m',
      'A trace settles when nothing of it has arrived for this long. Must exceed `wait`.',
    ),
    max_open: field(POSITIVE_DURATION, '30m', 'A trace settles when it has been open for this long.'),
    max_fanout: field(
      wholeNumber(1),
      '8',
      'Most roots that one CPID keeps, so most traces that one span goes into.',
    ),
    max_trace_spans: field(wholeNumber(1), '10000', 'A trace with this many spans goes on in an episode.'),
    max_trace_bytes: field(size(1), '4MiB', 'A trace of this size goes on in an episode.'),
  },
  [
    ({ wait, settle_after }) =>
      settle_after <= wait
        ? { key: 'settle_after', message: 'must exceed wait; write a longer settle_after or a shorter wait' }
        : undefined,
  ],
)

const retention = section('How much is kept. The oldest goes first, and no further than needed.', {
  max_cpids: field(wholeNumber(0), '1000000', 'Most CPIDs; 0 means no limit.'),
  max_age: field(DURATION, '168h', 'Nothing older; 0s means no limit.'),
  max_bytes: field(size(0), '20GiB', 'Most bytes in use in the database; 0 means no limit.'),
  interval: field(WAIT, '60s', 'How often the limits are looked at; 0s means never.'),
})

const metrics = section(
  'What is measured of cascades. Always on `/metrics`; a metrics pipeline sends it too.',
  {
    interval: field(POSITIVE_WAIT, '60s', 'How often a metrics pipeline sends, cumulatively.'),
    max_series: field(
      wholeNumber(1),
      '500',
      'Most services and object kinds, taken together, that one metric tells apart; further ones count as `other`.',
    ),
  },
)

const schema = section(
  'The merge graph: exporter of the incoming pipelines, receiver of the outgoing ones.',
  {
    storage,
    linking,
    retention,
    admission,
    metrics,
    inference,
    senders,
    max_sources: field(wholeNumber(1), '1024', 'A mergelog with more sources is refused.'),
    filter_spans: field(
      choice(FILTER_SPANS),
      'drop',
      'Half of what a Kubernetes API server sends are spans of its filters (`authentication`, `audit`, …). `drop`: what is below them goes under what they are below. `keep`: they are spans like others.',
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
