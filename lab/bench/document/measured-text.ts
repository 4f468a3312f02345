import { machineText } from '../measure/report.ts'
import type { Kept } from './benchmark-data.ts'

/** When and where something was measured. */
export function measuredText({ takenAt, machine }: Kept): string {
  return `Measured ${takenAt.slice(0, 10)}: ${machineText(machine)}.`
}
