import { attempt } from './attempt.ts'

/** The cluster that the process says all its telemetry is of, as SDKs of OpenTelemetry read it; empty where it says none. */
export function clusterName(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  for (const attribute of environment['OTEL_RESOURCE_ATTRIBUTES']?.split(',') ?? []) {
    const [name = '', value = ''] = attribute.split('=', 2)
    if (name.trim() === 'k8s.cluster.name') return attempt(() => decodeURIComponent(value.trim()), '')
  }
  return ''
}
