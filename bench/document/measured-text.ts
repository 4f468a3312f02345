import { machineText } from '../report.ts'
import type { Kept } from './benchmark-data.ts'

/** When, where and with which settings something was measured. */
export function measuredText({ takenAt, machine, settings }: Kept, names: readonly string[]): string {
  const asked = names.flatMap((name) => {
    const value = settings[name]
    return typeof value === 'number' ? [`${name} ${value.toLocaleString('en-US')}`] : []
  })
  return `Measured ${takenAt.slice(0, 10)}: ${machineText(machine)}${asked.length > 0 ? `; ${asked.join(', ')}` : ''}.`
}
