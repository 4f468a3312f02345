import type { CausewaySettings } from './causeway-settings.ts'

/** One of Causeway's own metrics, for one exporter if one is named; undefined while it has no value. */
export async function ownMetric(
  { ports }: CausewaySettings,
  name: string,
  exporter?: string,
): Promise<number | undefined> {
  const response = await fetch(`http://127.0.0.1:${ports.metrics}/metrics`)
  const line = (await response.text())
    .split('\n')
    .find(
      (candidate) =>
        new RegExp(`^${name}[{ ]`).test(candidate) &&
        (exporter === undefined || candidate.includes(`exporter="${exporter}"`)),
    )
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}
