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
