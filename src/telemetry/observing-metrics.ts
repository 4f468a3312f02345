import { counter, gauge } from './metric-spec.ts'

const RECEIVER = ['receiver'] as const

/** What receivers see of clusters from outside, and how they fare. */
export const OBSERVING_METRICS = {
  cpid_observations: counter(
    'observations',
    RECEIVER,
    'Versions, requests and Events of clusters that a receiver told of and that are durable.',
  ),
  cpid_observations_skipped: counter(
    'observations',
    ['receiver', 'reason'],
    'What a receiver read and left out, since it makes no write.',
  ),
  cpid_observations_unreadable: counter(
    'items',
    RECEIVER,
    'Lines of an audit log, and objects, events and reviews that came, that cannot be read; all else goes on.',
  ),
  cpid_observations_lost: counter(
    'observations',
    RECEIVER,
    'Requests that admission told of and that could not be stored in time: they are allowed all the same, and their writes may show no user.',
  ),
  cpid_audit_log_lag_bytes: gauge('bytes', RECEIVER, 'What is written in the audit log and not stored yet.'),
  cpid_watches: counter(
    'watches',
    RECEIVER,
    'Watches begun: every one lasts some minutes, then another goes on.',
  ),
  cpid_relists: counter(
    'lists',
    RECEIVER,
    'Resources listed anew, since their watch was away for longer than versions are kept.',
  ),
  cpid_refused_resources: gauge(
    'resources',
    RECEIVER,
    'Resources that may not be listed or watched, and of which nothing is seen.',
  ),
}
