import { componentType } from '../../config/component-type.ts'
import {
  field,
  optionalField,
  type Rule,
  section,
  type SettingsOf,
  withoutUndefined,
} from '../../config/schema.ts'
import { POSITIVE_WAIT, wholeNumber } from '../../config/value-kinds.ts'
import type { ExtensionType } from '../extension-type.ts'

/** The memory of an idle Causeway with an empty database, plus room for a request. */
const MIN_SOFT_MIB = 160
/** The memory with full caches. With a lower soft limit, requests are sometimes refused though nothing is wrong. */
const COMFORTABLE_SOFT_MIB = 320
/** The default spike limit as a share of the limit, as in the Collector. */
const SPIKE_SHARE = 0.2

/** The memory limit: fixed, or a share of the available memory. */
export type MemoryLimiterSettings = ReturnType<typeof buildLimiter>

interface Settings {
  limit_mib: number | undefined
  spike_limit_mib: number | undefined
  limit_percentage: number
  spike_limit_percentage: number | undefined
}

const spikeRule: Rule<Settings> = ({ limit_mib, spike_limit_mib }) =>
  spike_limit_mib !== undefined && limit_mib !== undefined && spike_limit_mib >= limit_mib
    ? { key: 'spike_limit_mib', message: 'must be smaller than limit_mib; a fifth of it is usual' }
    : undefined

const spikeWithoutLimitRule: Rule<Settings> = ({ limit_mib, spike_limit_mib }) =>
  spike_limit_mib !== undefined && limit_mib === undefined
    ? { key: 'spike_limit_mib', message: 'goes with limit_mib; write that too, or spike_limit_percentage' }
    : undefined

const shareRule: Rule<Settings> = ({ limit_percentage, spike_limit_percentage }) =>
  spike_limit_percentage !== undefined && spike_limit_percentage >= limit_percentage
    ? {
        key: 'spike_limit_percentage',
        message: 'must be smaller than limit_percentage; a fifth of it is usual',
      }
    : undefined

const TOO_LITTLE =
  `Causeway's caches and threads alone may take ${COMFORTABLE_SOFT_MIB} MiB; below ` +
  `${COMFORTABLE_SOFT_MIB / (1 - SPIKE_SHARE)} requests may be refused though little is sent`

const softOf = (limitMib: number, spikeMib: number | undefined): number =>
  limitMib - (spikeMib ?? limitMib * SPIKE_SHARE)

const restRule: Rule<Settings> = ({ limit_mib, spike_limit_mib }) => {
  if (limit_mib === undefined) return undefined
  const softMib = softOf(limit_mib, spike_limit_mib)
  return softMib < MIN_SOFT_MIB && softMib > 0
    ? {
        key: 'limit_mib',
        message:
          `leaves ${Math.floor(softMib)} MiB below spike_limit_mib, and Causeway needs up to ${MIN_SOFT_MIB} MiB before it ` +
          `takes anything in; write ${Math.ceil(MIN_SOFT_MIB / (1 - SPIKE_SHARE))} or more`,
      }
    : undefined
}

const schema = section(
  'Limits the memory of the process. The soft limit is the limit minus the spike limit. While more memory than that is in use, requests are refused before they are read. The limiter is on with these defaults even if it is not configured.',
  {
    check_interval: field(POSITIVE_WAIT, '1s', 'How often the memory in use is measured.'),
    limit_mib: optionalField(
      wholeNumber(1),
      'The memory that the process may use, in MiB. It is used instead of `limit_percentage`. Resident memory counts, on Linux without mapped files. In the Collector the heap counts.',
    ),
    spike_limit_mib: optionalField(
      wholeNumber(1),
      'How much memory may grow between two checks, in MiB. The default is a fifth of `limit_mib`.',
    ),
    limit_percentage: field(
      wholeNumber(1, 100),
      '80',
      "The memory that the process may use, as a percentage of what its container may use, or of the machine's memory where nothing limits it.",
    ),
    spike_limit_percentage: optionalField(
      wholeNumber(1, 99),
      'How much memory may grow between two checks, as a percentage of the same. The default is a fifth of `limit_percentage`.',
    ),
  },
  [spikeRule, spikeWithoutLimitRule, shareRule, restRule],
)

export const memoryLimiterExtension: ExtensionType<MemoryLimiterSettings> = {
  ...componentType({
    name: 'memory_limiter',
    schema,
    build: buildLimiter,
    warn: ({ limit_mib, spike_limit_mib }) =>
      limit_mib !== undefined && softOf(limit_mib, spike_limit_mib) < COMFORTABLE_SOFT_MIB
        ? [{ key: 'limit_mib', message: TOO_LITTLE }]
        : [],
  }),
  unnamed: () => ({ checkIntervalMs: 1_000, limitPercentage: 80 }),
  load: () => import('./memory-limiter.ts'),
}

function buildLimiter(written: SettingsOf<typeof schema>) {
  return {
    checkIntervalMs: written.check_interval,
    limitPercentage: written.limit_percentage,
    ...withoutUndefined({
      limitMib: written.limit_mib,
      spikeLimitMib: written.spike_limit_mib,
      spikeLimitPercentage: written.spike_limit_percentage,
    }),
  }
}
