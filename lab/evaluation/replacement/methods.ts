import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
} from 'causeway-instrumentation'
import { claimsByGraph, claimsByReplacements, type Attribution } from './attribution.ts'
import type { Told } from './told.ts'
import { replacing } from './replacing.ts'

/** A way to merge with a way to ask what belongs to a change. */
interface Method {
  name: string
  instrument: (settings: InstrumentationSettings) => Instrumentation
  attribute: (told: Told) => Attribution
}

export const METHODS: readonly Method[] = [
  { name: 'a new CPID (Causeway, N = 10)', instrument: createInstrumentation, attribute: claimsByGraph },
  {
    name: 'replacement, what was read last stays; no timestamps',
    instrument: replacing('last'),
    attribute: (told) => claimsByReplacements(told, { withTimes: false }),
  },
  {
    name: 'replacement, what was read last stays; timestamps',
    instrument: replacing('last'),
    attribute: (told) => claimsByReplacements(told, { withTimes: true }),
  },
  {
    name: 'replacement, what was read first stays; no timestamps',
    instrument: replacing('first'),
    attribute: (told) => claimsByReplacements(told, { withTimes: false }),
  },
  {
    name: 'replacement, what was read first stays; timestamps',
    instrument: replacing('first'),
    attribute: (told) => claimsByReplacements(told, { withTimes: true }),
  },
]
