/** What is measured, in the order of its tables. */
export const PROGRAMS = ['causeway', 'causeway-export', 'collector-fsync', 'collector', 'jaeger'] as const
export type ProgramName = (typeof PROGRAMS)[number]

export const LABELS: Record<ProgramName, string> = {
  causeway: 'Causeway, storing',
  'causeway-export': 'Causeway, linking and sending on',
  'collector-fsync': 'Collector, queue with fsync',
  collector: 'Collector, queue without fsync',
  jaeger: 'Jaeger with Badger',
}

/** Those that nothing needs to be built for. */
export const OWN_PROGRAMS: readonly ProgramName[] = ['causeway', 'causeway-export']
