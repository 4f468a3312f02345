import { counter, gauge } from './metric-spec.ts'

const FLOW = ['flow'] as const

/** How senders that send at once share what there is room for. */
export const FLOW_METRICS = {
  cpid_flow_waiting_requests: gauge(
    'requests',
    FLOW,
    'Requests of one sender that are being taken in: what it may have while others wait is limited.',
  ),
  cpid_flow_waiting_bytes: gauge('bytes', FLOW, 'Bytes of one sender that are being taken in.'),
  cpid_flow_refused_requests: counter(
    'requests',
    FLOW,
    'Requests of one sender turned away for now, because it crowded out others.',
  ),
  cpid_flow_limit_requests: gauge(
    'requests',
    [],
    'Most requests that one sender may have waiting beside others.',
  ),
  cpid_flow_limit_bytes: gauge('bytes', [], 'Most bytes that one sender may have waiting beside others.'),
}
