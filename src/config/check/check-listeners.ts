import { effectiveTree, type PlainNode } from '../effective-tree.ts'
import type { Findings } from '../findings.ts'
import { listenersOf } from '../listeners.ts'
import { formatEndpoint, type Endpoint } from '../schema/endpoint.ts'
import type { Sections } from './read-sections.ts'
import { ownValue } from '../../model/own-value.ts'

interface Listening {
  path: string
  endpoint: Endpoint
}

const EVERYWHERE = ['', '0.0.0.0', '::']
const LOCAL = ['localhost', '127.0.0.1', '::1']
const READER = 'service::telemetry::metrics::readers::0::pull::exporter::prometheus'

/** No two listeners that are on share an endpoint. */
export function checkListeners(sections: Sections, findings: Findings): void {
  const listening: Listening[] = []
  for (const candidate of listenersThatAreOn(sections)) {
    const first = listening.find(({ endpoint }) => overlap(endpoint, candidate.endpoint))
    if (first === undefined) listening.push(candidate)
    else {
      const where = formatEndpoint(candidate.endpoint)
      findings.mistake(candidate.path, `${where} is already taken by ${first.path}; write another port`)
    }
  }
}

function listenersThatAreOn({ tree, declarations, receivers, extensions, service }: Sections): Listening[] {
  const used = new Set(service.pipelines.flatMap(({ receivers: ids }) => ids))
  const listeners = [
    ...[...used].flatMap((id) => listenersIn('receivers', receivers.built.get(id))),
    ...[...new Set(service.extensions)].flatMap((id) => listenersIn('extensions', extensions.built.get(id))),
  ]
  const metrics = metricsListener(effectiveTree(tree, declarations))
  return [
    ...listeners.map(({ path, host, port }) => ({ path: `${path}::endpoint`, endpoint: { host, port } })),
    ...(metrics === undefined ? [] : [metrics]),
  ]
}

const listenersIn = (
  section: 'receivers' | 'extensions',
  built: Parameters<typeof listenersOf>[1] | undefined,
) => (built === undefined ? [] : listenersOf(section, built))

function metricsListener(effective: PlainNode): Listening | undefined {
  const reader = READER
  const [host, port] = [at(effective, `${reader}::host`), at(effective, `${reader}::port`)]
  const isOff = at(effective, 'service::telemetry::metrics::level') === 'none'
  if (isOff || typeof host !== 'string' || typeof port !== 'number') return undefined
  return { path: `${reader}::port`, endpoint: { host, port } }
}

function overlap(one: Endpoint, other: Endpoint): boolean {
  if (one.port !== other.port || one.port === 0) return false
  if ([one.host, other.host].some((host) => EVERYWHERE.includes(host))) return true
  return one.host === other.host || (LOCAL.includes(one.host) && LOCAL.includes(other.host))
}

function at(node: PlainNode, path: string): PlainNode | undefined {
  return path.split('::').reduce<PlainNode | undefined>((found, key) => {
    if (typeof found !== 'object' || found === null) return undefined
    return ownValue(found as Record<string, PlainNode>, key)
  }, node)
}
