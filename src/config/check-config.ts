import { isLoopback, ownValue } from '../model/untrusted-names.ts'
import type { Signal } from '../model/otlp-requests.ts'
import type { CausewayConfig, ConfiguredListener, Destination } from './causeway-config.ts'
import { type Declarations, typeNamed } from './component-type.ts'
import { effectiveTree, type PlainNode } from './print-config.ts'
import { type Components, listenersOf, type Pipeline, type Sections } from './read-sections.ts'
import { didYouMean, type Findings } from './schema.ts'
import { type Endpoint, formatEndpoint } from './value-kinds.ts'

/** Checks that required sections exist, and that everything that pipelines and the service name is configured. */
export function checkReferences(sections: Sections, findings: Findings): void {
  const { receivers, exporters, connectors, extensions, service } = sections
  if (isMissing(receivers)) {
    findings.mistake(
      'receivers',
      'no receiver configuration specified in config; write receivers: { otlp: { protocols: { grpc: {} } } }',
    )
  }
  const sendsOn = service.pipelines.some((pipeline) =>
    pipeline.exporters.some((id) => !connectors.typeById.has(id)),
  )
  if (isMissing(exporters) && sendsOn) {
    findings.mistake(
      'exporters',
      'no exporter configuration specified in config; write for example exporters: { otlp_grpc: { endpoint: localhost:14317 } }',
    )
  }
  if (service.isMissing) {
    findings.mistake(
      'service::pipelines',
      'service must have at least one pipeline; write traces/in and logs/in',
    )
  }
  for (const pipeline of service.pipelines) checkPipeline(pipeline, sections, findings)
  for (const id of service.extensions) {
    if (extensions.typeById.has(id) || extensions.isUnreadable) continue
    findings.mistake('service::extensions', notConfigured('extension', id, [extensions]))
  }
}

function checkPipeline(pipeline: Pipeline, sections: Sections, findings: Findings): void {
  const { receivers, processors, exporters, connectors } = sections
  const { path } = pipeline
  if (pipeline.receivers.length === 0 && !pipeline.isFaulty) {
    findings.mistake(path, 'must have at least one receiver; write receivers: [otlp] or receivers: [cpid]')
  }
  if (pipeline.exporters.length === 0 && !pipeline.isFaulty) {
    findings.mistake(path, 'must have at least one exporter; write exporters: [cpid], or where to send')
  }
  for (const id of unconfigured(pipeline.receivers, receivers, sections)) {
    findings.mistake(path, notConfigured('receiver', id, [receivers, connectors]))
  }
  for (const id of new Set(pipeline.processors)) {
    if (pipeline.processors.indexOf(id) !== pipeline.processors.lastIndexOf(id)) {
      findings.mistake(
        path,
        `references processor "${id}" multiple times; remove it, Causeway has no processors`,
      )
    }
    if (processors.typeById.has(id) || processors.isUnreadable) continue
    findings.mistake(
      path,
      `references processor "${id}" which is not configured; remove it, Causeway has none`,
    )
  }
  for (const id of unconfigured(pipeline.exporters, exporters, sections)) {
    findings.mistake(path, notConfigured('exporter', id, [exporters, connectors]))
  }
}

/** The ids that are not configured. Empty if the section is missing, which is reported once. */
function unconfigured(
  ids: readonly string[],
  own: Components<unknown>,
  { connectors, declarations }: { connectors: Components<unknown>; declarations: Declarations },
): string[] {
  if (isMissing(own) || own.isUnreadable || connectors.isUnreadable) return []
  const isKnown = (id: string) => own.typeById.has(id) || connectors.typeById.has(id)
  const isMissingConnector = (id: string) =>
    isMissing(connectors) && typeNamed(declarations.connectors, id.split('/', 1).join()) !== undefined
  return [...new Set(ids)].filter((id) => !isKnown(id) && !isMissingConnector(id))
}

function notConfigured(kind: string, id: string, sections: readonly Components<unknown>[]): string {
  const known = sections.flatMap(({ typeById }) => [...typeById.keys()])
  const hint = didYouMean([id], known)
  const advice = hint === '' ? `; configure it under ${kind}s or remove it here` : hint
  return `references ${kind} "${id}" which is not configured${advice}`
}

function isMissing({ typeById, isUnreadable }: Components<unknown>): boolean {
  return typeById.size === 0 && !isUnreadable
}

/** Checks that there is one connector, that all incoming data goes through it, and that pipelines form no cycle. */
export function checkConnectors(sections: Sections, findings: Findings): void {
  const { connectors, receivers, exporters, service, declarations } = sections
  const [{ name }] = declarations.connectors
  if (connectors.isUnreadable) return
  for (const id of connectors.typeById.keys()) {
    if (receivers.typeById.has(id)) findings.mistake(`connectors::${id}`, describeAmbiguous('receiver', id))
    if (exporters.typeById.has(id)) findings.mistake(`connectors::${id}`, describeAmbiguous('exporter', id))
  }
  const cpids = [...connectors.typeById].filter(([, type]) => type === name).map(([id]) => id)
  const [cpid, ...others] = cpids
  if (connectors.typeById.size === 0) {
    findings.mistake('connectors', `must have the ${name} connector; write connectors: { ${name}: {} }`)
  } else if (others.length > 0) {
    findings.mistake('connectors', `must have one ${name} connector, got ${cpids.join(', ')}; keep one`)
  }
  for (const pipeline of service.pipelines) checkFlow(pipeline, sections, findings)
  if (cpid !== undefined && others.length === 0) checkUse(cpid, sections, findings)
}

function checkFlow(pipeline: Pipeline, sections: Sections, findings: Findings): void {
  const { receivers, connectors } = sections
  const { signal } = pipeline
  const outer = pipeline.receivers.find((id) => receivers.typeById.has(id))
  const inner = pipeline.receivers.find((id) => connectors.typeById.has(id))
  const back = pipeline.exporters.find((id) => connectors.typeById.has(id))
  if (inner !== undefined && back !== undefined) {
    const [from, to] = [inner, back].map((id) => `connector "${id}" (${signal} to ${signal})`)
    findings.mistake(
      pipeline.path,
      `cycle detected: ${from} -> ${to}; a pipeline has the connector either as receiver or as exporter`,
    )
  }
  if (outer === undefined) return
  const [around] = straightTo(pipeline, sections)
  if (signal === 'metrics') {
    if (around !== undefined && back === undefined)
      findings.mistake(
        pipeline.path,
        `keeps nothing of the metrics of receiver "${outer}"; write exporters: [cpid, ${around}], or send them past Causeway`,
      )
    return
  }
  for (const id of straightTo(pipeline, sections)) {
    findings.mistake(
      pipeline.path,
      `sends from receiver "${outer}" straight to exporter "${id}", past the merge graph; write exporters: [cpid] here ` +
        `and a pipeline ${signal}/out: { receivers: [cpid], exporters: [${id}] }`,
    )
  }
}

function checkUse(cpid: string, sections: Sections, findings: Findings): void {
  const { service, declarations } = sections
  const [{ pairs }] = declarations.connectors
  const isToBeRewritten = service.pipelines.some(
    (pipeline) =>
      pipeline.isFaulty || (pipeline.signal !== 'metrics' && straightTo(pipeline, sections).length > 0),
  )
  if (service.isUnreadable || isToBeRewritten) return
  const taken = signalsOf(service.pipelines.filter(({ exporters }) => exporters.includes(cpid)))
  const given = signalsOf(service.pipelines.filter(({ receivers }) => receivers.includes(cpid)))
  const unfed = given.filter((to) => !pairs.some((pair) => pair.to === to && taken.includes(pair.from)))
  if (unfed.length > 0) {
    findings.mistake(
      `connectors::${cpid}`,
      `connector "${cpid}" used as receiver in [${unfed.join(' ')}] pipeline but not used in any supported ` +
        `exporter pipeline; write a pipeline ${unfed.map(feedOf).join()}/in: { receivers: [otlp], exporters: [${cpid}] }`,
    )
  } else if (taken.length === 0) {
    findings.mistake(
      `connectors::${cpid}`,
      `connector "${cpid}" is not used as exporter in any pipeline, so nothing would come in; ` +
        `write traces/in: { receivers: [otlp], exporters: [${cpid}] }`,
    )
  }
}

/** The signal that the connector needs to produce this one. */
const feedOf = (signal: Signal): Signal => (signal === 'metrics' ? 'traces' : signal)

/** The exporters to which a pipeline sends without passing the connector. */
function straightTo(pipeline: Pipeline, { receivers, exporters, connectors }: Sections): string[] {
  if (!pipeline.receivers.some((id) => receivers.typeById.has(id))) return []
  const isExporter = (id: string) => exporters.typeById.has(id) && !connectors.typeById.has(id)
  return [...new Set(pipeline.exporters.filter(isExporter))]
}

function signalsOf(pipelines: readonly Pipeline[]): Signal[] {
  return [...new Set(pipelines.map(({ signal }) => signal))]
}

function describeAmbiguous(kind: string, id: string): string {
  return (
    `ambiguous ID: Found both "${id}" ${kind} and "${id}" connector. Change one of the components' IDs to ` +
    `eliminate ambiguity (e.g. rename "${id}" connector to "${id}/connector")`
  )
}

/** Checks that receivers and exporters support the signals of their pipelines. */
export function checkSignals({ receivers, exporters, service }: Sections, findings: Findings): void {
  for (const { path, signal, receivers: froms, exporters: tos } of service.pipelines) {
    for (const id of new Set(froms)) {
      const type = receivers.built.get(id)?.type
      if (type === undefined || type.signals.includes(signal)) continue
      findings.mistake(`receivers::${id}`, `receives no ${signal}; take it out of ${path}`)
    }
    for (const id of new Set(tos)) {
      const exporter = exporters.built.get(id)
      if (exporter === undefined) continue
      const { type, settings } = exporter
      const reason = type.signals.includes(signal)
        ? type.refuses?.(settings, signal, path)
        : `sends no ${signal}; take it out of ${path}`
      if (reason !== undefined) findings.mistake(`exporters::${id}`, reason)
    }
  }
}

/** Checks that at most one extension of each type is on, except for types that allow several. */
export function checkExtensions({ extensions, service, declarations }: Sections, findings: Findings): void {
  const idsByType = Map.groupBy(new Set(service.extensions), (id) => extensions.typeById.get(id))
  for (const { name, isPlural } of declarations.extensions) {
    const ids = idsByType.get(name) ?? []
    if (isPlural === true || ids.length < 2) continue
    findings.mistake('service::extensions', `must have one ${name} at most, got ${ids.join(', ')}; keep one`)
  }
}

interface Listening {
  path: string
  endpoint: Endpoint
}

const EVERYWHERE = ['', '0.0.0.0', '::']
const LOCAL = ['localhost', '127.0.0.1', '::1']
const READER = 'service::telemetry::metrics::readers::0::pull::exporter::prometheus'

/** Checks that no two active listeners share an endpoint. */
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

interface Use {
  path: string
  id: string | undefined
  by: 'listener' | 'exporter'
}

/** Checks that each authenticator exists, is on, and supports its use. */
export function checkAuthenticators(sections: Sections, findings: Findings): void {
  const { extensions, service, declarations } = sections
  if (extensions.isUnreadable) return
  const authenticators = declarations.extensions.filter((type) => type.insteadFor !== undefined)
  for (const { path, id, by } of usesOf(sections)) {
    if (id === undefined) continue
    const where = `${path}::auth::authenticator`
    const built = extensions.built.get(id)
    if (!extensions.typeById.has(id)) {
      findings.mistake(where, `"${id}" is not configured; write it under extensions, with its token or users`)
    } else if (!service.extensions.includes(id)) {
      findings.mistake(where, `"${id}" is not on; add it to service::extensions`)
    } else if (built !== undefined && built.type.insteadFor === undefined) {
      const names = authenticators.map(({ name }) => name).join(' or ')
      findings.mistake(where, `"${id}" checks no credentials; name a ${names} extension`)
    } else if (built !== undefined) {
      const instead = built.type.insteadFor?.(built.settings, by)
      if (instead !== undefined) findings.mistake(where, `"${id}" cannot be used here; name ${instead}`)
    }
  }
}

function usesOf({ receivers, exporters, extensions }: Sections): Use[] {
  const listeners = [
    ...[...receivers.built.values()].flatMap((receiver) => listenersOf('receivers', receiver)),
    ...[...extensions.built.values()].flatMap((extension) => listenersOf('extensions', extension)),
  ]
  return [
    ...listeners.map(({ path, auth }): Use => ({ path, id: auth, by: 'listener' })),
    ...[...exporters.built.values()].map(({ id, type, settings }): Use => ({
      path: `exporters::${id}`,
      id: type.auth?.(settings),
      by: 'exporter',
    })),
  ]
}

/** Warns of listeners that other machines can reach without credentials, and of secrets sent without TLS. */
export function warnOfExposure(
  { receivers, extensions, exporters }: CausewayConfig,
  findings: Findings,
): void {
  for (const { listeners } of [...receivers, ...extensions])
    for (const listener of listeners) warnOfListener(listener, findings)
  for (const { id, auth, destinations } of exporters)
    if (auth !== undefined && Object.values(destinations).some(isPlainAndFar))
      findings.warn(`exporters::${id}::auth`, 'the credential is sent in plain text; turn tls on')
}

function isPlainAndFar(destination: Destination): boolean {
  return destination.kind === 'backend' && destination.isPlain && !isLoopback(destination.host)
}

function warnOfListener(listener: ConfiguredListener, findings: Findings): void {
  const { path, exposes, tls, auth } = listener
  if (exposes === undefined || isLoopback(listener.host)) return
  const where = formatEndpoint(listener)
  if (auth === undefined && tls?.clientCaFile === undefined) {
    findings.warn(
      `${path}::endpoint`,
      `${where} can be reached from other machines and ${exposes} ANYBODY; write auth: { authenticator: … } or ` +
        `tls: { client_ca_file: … } beside it, or listen on localhost:${listener.port}`,
    )
  } else if (auth !== undefined && tls === undefined) {
    findings.warn(
      `${path}::auth`,
      `credentials come to ${where} in plain text, so whoever listens in has them; write tls: { cert_file, key_file } too`,
    )
  }
}
