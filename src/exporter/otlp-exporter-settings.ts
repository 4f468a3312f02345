import type { ClientTlsSettings } from '../model/connection-settings.ts'
import type { RetryConfig, SendingConfig } from '../config/causeway-config.ts'
import {
  field,
  optionalField,
  refusedKeys,
  type Rule,
  section,
  type SettingsOf,
  UNSUPPORTED_COLLECTOR_KEY,
  withoutUndefined,
} from '../config/schema.ts'
import { buildClientTls, clientAuth, clientTls } from '../config/tls-auth-cors.ts'
import { choice, decimalNumber, DURATION, FLAG, HEADERS, wholeNumber } from '../config/value-kinds.ts'
import type { Credentials } from '../platform/credentials.ts'
import { openClientTls } from '../platform/tls.ts'

/** The settings that both OTLP exporters share. */
export interface OtlpSending {
  tls: ClientTlsSettings
  /** The id of an authenticator. */
  auth?: string
  headers: Record<string, string>
  compression: 'gzip' | 'none'
  timeoutMs: number
  retry: RetryConfig
  queue: { consumers: number; batchMaxSpans: number }
}

/** The settings of both OTLP transports; `timeoutMs` limits one export, including the connection. */
export interface TransportSettings extends Pick<
  OtlpSending,
  'tls' | 'headers' | 'compression' | 'timeoutMs'
> {
  userAgent: string
  /** Sent with every request; disposed of with the transport. */
  credentials?: Credentials | undefined
  /** Called when changed certificate files cannot be used. */
  onTrouble?: (reason: string) => void
}

interface RetryBounds {
  initial_interval: number
  max_elapsed_time: number
}

const elapsedRule: Rule<RetryBounds> = ({ initial_interval, max_elapsed_time }) =>
  max_elapsed_time > 0 && max_elapsed_time < initial_interval
    ? {
        key: 'max_elapsed_time',
        message: "'max_elapsed_time' must not be less than 'initial_interval'; write 0s to never give up",
      }
    : undefined

const retry = section(
  'How requests are retried after a temporary failure.',
  {
    enabled: field(
      FLAG,
      'true',
      'Whether a failed request is retried. With `false`, its items are skipped after the first failure.',
    ),
    initial_interval: field(DURATION, '5s', 'The pause before the first retry.'),
    randomization_factor: field(
      decimalNumber(0, 1),
      '0.5',
      'The share by which each pause is randomly lengthened or shortened.',
    ),
    multiplier: field(
      decimalNumber(1),
      '1.5',
      'The factor by which each pause is longer than the previous one.',
    ),
    max_interval: field(
      DURATION,
      '30s',
      'The longest pause between two retries. A backend may ask for a longer one, up to 5 minutes, by `Retry-After` or RetryInfo.',
    ),
    max_elapsed_time: field(
      DURATION,
      '0s',
      "How long a request is retried before its items are skipped. `0s` means no limit. The Collector's default is 300s.",
    ),
  },
  [elapsedRule],
)

const OUTBOX = 'the outbox in SQLite is the queue, durable and unbounded; remove this key'

const queue = section(
  'How the outbox is sent to the backend. The outbox is in the database. It is always on and has no limit of its own.',
  {
    enabled: field(
      FLAG,
      'true',
      "This key has no effect, because the outbox is always on. It is accepted so that a Collector's configuration works.",
    ),
    num_consumers: field(wholeNumber(1), '4', 'The number of requests that may be in progress at a time.'),
    batch: section('How many items are sent in one request.', {
      max_size: field(wholeNumber(1), '512', 'The number of spans or log records that one request may have.'),
      min_size: optionalField(
        wholeNumber(0),
        "This key has no effect, because Causeway sends at once what there is. It is accepted so that a Collector's configuration works.",
      ),
      flush_timeout: optionalField(
        DURATION,
        "This key has no effect, because Causeway sends at once what there is. It is accepted so that a Collector's configuration works.",
      ),
      ...refusedKeys('batches are counted in spans and log records; remove it', 'sizer'),
      ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'partition'),
    }),
    ...refusedKeys(OUTBOX, 'queue_size', 'storage', 'block_on_overflow', 'sizer', 'wait_for_result'),
  },
)

/** The keys that both OTLP exporters share. */
export const sendingKeys = {
  tls: clientTls,
  auth: clientAuth,
  headers: field(
    HEADERS,
    '{}',
    'Headers that are sent with every request. `print-config` never shows their values.',
  ),
  compression: field(
    choice(['gzip', 'none']),
    'gzip',
    'How requests are compressed. `none` sends them uncompressed.',
  ),
  retry_on_failure: retry,
  sending_queue: queue,
  ...refusedKeys(
    UNSUPPORTED_COLLECTOR_KEY,
    'keepalive',
    'read_buffer_size',
    'write_buffer_size',
    'middlewares',
    'batcher',
  ),
}

interface SendingSettings {
  tls: SettingsOf<typeof clientTls>
  auth: SettingsOf<typeof clientAuth>
  headers: Record<string, string>
  compression: 'gzip' | 'none'
  timeout: number
  retry_on_failure: SettingsOf<typeof retry>
  sending_queue: SettingsOf<typeof queue>
}

export function buildSending(settings: SendingSettings, scheme: 'http' | 'https' | undefined): OtlpSending {
  const { retry_on_failure: again, sending_queue: outbox } = settings
  return {
    tls: buildClientTls(settings.tls, scheme),
    ...withoutUndefined({ auth: settings.auth?.authenticator }),
    headers: settings.headers,
    compression: settings.compression,
    timeoutMs: settings.timeout,
    retry: {
      enabled: again.enabled,
      initialIntervalMs: again.initial_interval,
      randomizationFactor: again.randomization_factor,
      multiplier: again.multiplier,
      maxIntervalMs: again.max_interval,
      maxElapsedMs: again.max_elapsed_time,
    },
    queue: { consumers: outbox.num_consumers, batchMaxSpans: outbox.batch.max_size },
  }
}

/** How the drain sends to this exporter. */
export function sendingOf({ retry, queue }: OtlpSending): SendingConfig {
  return { batchMaxItems: queue.batchMaxSpans, consumers: queue.consumers, retry }
}

/** Reads the certificate files. Throws when one is unusable. */
export function openSendingFiles(
  _id: string,
  { tls }: OtlpSending,
  onTrouble: (reason: string) => void,
): Disposable | undefined {
  return tls.insecure ? undefined : openClientTls(tls, onTrouble)
}

/** Warnings for keys without effect. */
export function warnOfSending({
  sending_queue: outbox,
}: SendingSettings): { key: string; message: string }[] {
  const idle = [
    { key: 'sending_queue::enabled', isSet: !outbox.enabled, message: 'the outbox is always on' },
    {
      key: 'sending_queue::batch::min_size',
      isSet: outbox.batch.min_size !== undefined,
      message: SENT_AT_ONCE,
    },
    {
      key: 'sending_queue::batch::flush_timeout',
      isSet: outbox.batch.flush_timeout !== undefined,
      message: SENT_AT_ONCE,
    },
  ]
  return idle
    .filter(({ isSet }) => isSet)
    .map(({ key, message }) => ({ key, message: `has no effect: ${message}` }))
}

const SENT_AT_ONCE = 'what is in the outbox is sent at once'
