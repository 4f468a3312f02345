import { effectiveTree, type PlainNode } from '../effective-tree.ts'
import type { Findings } from '../findings.ts'
import { formatEndpoint, parseEndpoint, type Endpoint } from '../schema/endpoint.ts'
import { Refusal } from '../schema/field.ts'
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
export function checkListeners({ tree, service }: Sections, findings: Findings): void {
  const effective = effectiveTree(tree)
  const used = new Set(service.pipelines.flatMap(({ receivers }) => receivers))
  const paths = [
    ...[...used].flatMap((id) =>
      ['grpc', 'http'].map((name) => `receivers::${id}::protocols::${name}::endpoint`),
    ),
    ...new Set(service.extensions.map((id) => `extensions::${id}::endpoint`)),
  ]
  const listening: Listening[] = []
  for (const candidate of [...paths.map((path) => atEndpoint(effective, path)), metricsListener(effective)]) {
    if (candidate === undefined) continue
    const first = listening.find(({ endpoint }) => overlap(endpoint, candidate.endpoint))
    if (first === undefined) listening.push(candidate)
    else {
      const where = formatEndpoint(candidate.endpoint)
      findings.mistake(candidate.path, `${where} is already taken by ${first.path}; write another port`)
    }
  }
}

function atEndpoint(effective: PlainNode, path: string): Listening | undefined {
  const text = at(effective, path)
  const endpoint = typeof text === 'string' ? parseEndpoint(text) : undefined
  return endpoint === undefined || endpoint instanceof Refusal ? undefined : { path, endpoint }
}

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
