import type { ConnectorSettings } from '../../config/causeway-config.ts'
import type { LinkingMode } from '../../model/link-settings.ts'
import { DURATION, POSITIVE_DURATION } from '../../config/schema/duration.ts'
import { field, refusedKeys } from '../../config/schema/field.ts'
import { choice, TEXT, wholeNumber } from '../../config/schema/scalar-kinds.ts'
import { section } from '../../config/schema/section.ts'
import { size } from '../../config/schema/size.ts'
import { buildSenders, senders } from './senders.ts'
import { buildInference, inference } from './inference.ts'
import { admission, buildAdmission } from './admission.ts'
import { present } from '../../config/parts/present.ts'
import { componentType, type ConnectorDeclaration } from '../../config/component-type.ts'

const FILTER_SPANS: readonly ('drop' | 'keep')[] = ['drop', 'keep']
const MODES: readonly LinkingMode[] = ['cascade', 'links', 'passthrough']

const storage = section('Where the merge graph is kept.', {
  path: field(
    TEXT,
    './data/causeway.db',
    'The SQLite file. A relative path starts at the working directory.',
  ),
  ...refusedKeys('PostgreSQL comes later and is not here yet; write path: ./data/causeway.db instead', 'url'),
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
  interval: field(DURATION, '60s', 'How often the limits are looked at; 0s means never.'),
})

const metrics = section(
  'What is measured of cascades. Always on `/metrics`; a metrics pipeline sends it too.',
  {
    interval: field(POSITIVE_DURATION, '60s', 'How often a metrics pipeline sends, cumulatively.'),
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
      ...present({ senders: buildSenders(settings.senders) }),
    }),
  }),
  // A mergelog may come as a log record and go out as a span.
  pairs: [
    { from: 'traces', to: 'traces' },
    { from: 'logs', to: 'logs' },
    { from: 'logs', to: 'traces' },
    { from: 'traces', to: 'metrics' },
    { from: 'logs', to: 'metrics' },
  ],
}
