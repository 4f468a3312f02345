import { peerVersions } from '../../peers/peer-versions.ts'

/** What is measured, in the order of its tables. */
export const PROGRAMS = ['causeway', 'causeway-export', 'collector-fsync', 'collector', 'jaeger'] as const
export type ProgramName = (typeof PROGRAMS)[number]

export const LABELS: Record<ProgramName, string> = {
  causeway: 'Causeway, storing',
  'causeway-export': 'Causeway, storing, linking and sending on',
  'collector-fsync': 'Collector, queue with fsync',
  collector: 'Collector, queue without fsync',
  jaeger: 'Jaeger with Badger',
}

export const VERSIONS: Record<ProgramName, string> = {
  causeway: 'this checkout',
  'causeway-export': 'this checkout',
  'collector-fsync': peerVersions.collector,
  collector: peerVersions.collector,
  jaeger: peerVersions.jaeger,
}

/** Those that nothing needs to be built for. */
export const OWN_PROGRAMS: readonly ProgramName[] = ['causeway', 'causeway-export']
