import { ownValue } from '../model/untrusted-names.ts'
import { type Signal, SIGNALS } from '../model/otlp-requests.ts'
import type { ConfiguredListener } from './causeway-config.ts'
import {
  type ComponentDeclaration,
  type ComponentSection,
  type ConnectorDeclaration,
  type Declarations,
  type ExporterDeclaration,
  type ExtensionDeclaration,
  type ReceiverDeclaration,
  typeNamed,
} from './component-type.ts'
import { didYouMean, type Findings, invalid, InvalidValue, readSettings } from './schema.ts'
import { pipeline, service } from './service-section.ts'
import { TEXT_LIST } from './value-kinds.ts'
import {
  childOf,
  describeNode,
  isBlank,
  isMap,
  mapOf,
  type RawMap,
  type RawNode,
  UNRESOLVED,
  valueOf,
} from './yaml-tree.ts'

/** All sections of a configuration, read one by one. References between them are checked later. */
export interface Sections {
  readonly tree: RawMap
  readonly declarations: Declarations
  readonly receivers: Components<ReceiverDeclaration>
  readonly processors: Components<ComponentDeclaration>
  readonly exporters: Components<ExporterDeclaration>
  readonly connectors: Components<ConnectorDeclaration>
  readonly extensions: Components<ExtensionDeclaration>
  readonly service: ServiceLists
}

const SECTION_NAMES = ['receivers', 'processors', 'exporters', 'connectors', 'extensions', 'service']

export function readSections(tree: RawMap, declarations: Declarations, findings: Findings): Sections {
  const unknown = Object.keys(tree).filter((key) => !SECTION_NAMES.includes(key))
  if (unknown.length > 0) {
    const hint = didYouMean(unknown, SECTION_NAMES)
    findings.mistake('', `the top level has invalid keys: ${unknown.join(', ')}${hint}`, unknown[0])
  }
  const { receivers, processors, exporters, connectors, extensions, instead } = declarations
  const tables = {
    receivers: { types: receivers, instead: instead.receivers },
    processors: { types: processors, instead: instead.processors },
    exporters: { types: exporters, instead: instead.exporters },
    connectors: { types: connectors, instead: instead.connectors },
    extensions: { types: extensions, instead: instead.extensions },
  }
  return {
    tree,
    declarations,
    receivers: readComponents('receivers', tree['receivers'], tables.receivers, findings),
    processors: readComponents('processors', tree['processors'], tables.processors, findings),
    exporters: readComponents('exporters', tree['exporters'], tables.exporters, findings),
    connectors: readComponents('connectors', tree['connectors'], tables.connectors, findings),
    extensions: readComponents('extensions', tree['extensions'], tables.extensions, findings),
    service: readService(tree, declarations, findings),
  }
}

/** Whether no component is configured. */
export function isEmpty({ receivers, processors, exporters, connectors, extensions }: Sections): boolean {
  return [receivers, processors, exporters, connectors, extensions].every(
    ({ typeById, isUnreadable }) => typeById.size === 0 && !isUnreadable,
  )
}

/** A component without mistakes. */
export interface Built<Type> {
  readonly id: string
  readonly type: Type
  /** The settings that its type has read. */
  readonly settings: unknown
}

/** A section of components. */
export interface Components<Type> {
  /** The type of every component by id, including those with mistakes. */
  readonly typeById: ReadonlyMap<string, string>
  /** The components without mistakes, by id. */
  readonly built: ReadonlyMap<string, Built<Type>>
  /** Whether the section is unreadable; then missing components are not reported. */
  readonly isUnreadable: boolean
}

/** Reads a section; `instead` says what to write in place of unknown types. */
function readComponents<Type extends ComponentDeclaration>(
  section: ComponentSection,
  node: RawNode | undefined,
  { types, instead }: { types: readonly Type[]; instead: Readonly<Record<string, string>> },
  findings: Findings,
): Components<Type> {
  const typeById = new Map<string, string>()
  const built = new Map<string, Built<Type>>()
  const map = isBlank(node) ? {} : valueOf(node)
  if (!isMap(map)) {
    if (map !== UNRESOLVED)
      findings.mistake(section, `must be a map from ids to settings, got ${describeNode(map)}`)
    return { typeById, built, isUnreadable: true }
  }
  for (const [id, written] of Object.entries(map)) {
    const parsed = parseComponentId(id)
    if (parsed instanceof InvalidValue) {
      findings.mistake(`${section}::${id}`, parsed.reason)
      continue
    }
    const type = typeNamed(types, parsed.type)
    typeById.set(id, type?.name ?? parsed.type)
    if (type === undefined) {
      const known = types.map(({ name }) => name)
      findings.mistake(`${section}::${id}`, describeUnknownType(section, id, parsed.type, { known, instead }))
      continue
    }
    const settings = type.read(written, [section, id], findings)
    if (settings !== undefined) built.set(id, { id, type, settings })
  }
  return { typeById, built, isUnreadable: false }
}

const TYPE = /^[a-zA-Z][0-9a-zA-Z_]{0,62}$/
const NAME = /^[^\p{Z}\p{C}\p{S}]{1,1024}$/u

/** The type in an id such as `otlp_grpc/jaeger`. */
function parseComponentId(id: string): { type: string } | InvalidValue {
  const slash = id.indexOf('/')
  const type = slash < 0 ? id : id.slice(0, slash)
  const name = slash < 0 ? undefined : id.slice(slash + 1)
  const wanted = 'write type or type/name, such as otlp_grpc/jaeger'
  if (!TYPE.test(type)) {
    return invalid(`"${id}" is not an id: a type is a letter, then letters, digits and _; ${wanted}`)
  }
  if (name === '') return invalid(`"${id}" is not an id: the part after / must not be empty; ${wanted}`)
  if (name !== undefined && !NAME.test(name)) {
    return invalid(
      `"${id}" is not an id: a name has no spaces or symbols and at most 1024 characters; ${wanted}`,
    )
  }
  return { type }
}

const NO_PROCESSORS =
  'Causeway has no processors; run it in a Collector in front of Causeway and remove it here'

/** The error for a component of an unknown type, with what to write instead. */
function describeUnknownType(
  section: ComponentSection,
  id: string,
  type: string,
  { known, instead }: { known: readonly string[]; instead: Readonly<Record<string, string>> },
): string {
  const advice = ownValue(instead, type) ?? (section === 'processors' ? NO_PROCESSORS : undefined)
  const hint = advice === undefined ? didYouMean([type], known) : `; ${advice}`
  return `unknown type: "${type}" for id: "${id}" (valid values: [${known.join(' ')}])${hint}`
}

export interface Pipeline {
  readonly path: string
  readonly signal: Signal
  readonly receivers: readonly string[]
  readonly processors: readonly string[]
  readonly exporters: readonly string[]
  /** Whether the pipeline has a mistake; then missing parts are not reported. */
  readonly isFaulty: boolean
}

interface ServiceLists {
  readonly extensions: readonly string[]
  readonly pipelines: readonly Pipeline[]
  /** Whether there are no pipelines at all. */
  readonly isMissing: boolean
  /** Whether one pipeline, or the whole section, is unreadable. */
  readonly isUnreadable: boolean
}

const PIPELINES_PATH = 'service::pipelines'

/** Reads the service section. Its lists are used even if other parts contain mistakes. */
function readService(tree: RawMap, declarations: Declarations, findings: Findings): ServiceLists {
  const node = tree['service']
  const reading = readSettings(service, node, ['service'])
  if (reading.kind === 'faulty') for (const mistake of reading.mistakes) findings.mistakes.push(mistake)
  const written = childOf(node, 'pipelines')
  const entries = Object.entries(mapOf(written))
  const pipelines = entries.map(([id, settings]) => readPipeline(id, settings, findings))
  return {
    extensions: listOf(childOf(node, 'extensions')),
    pipelines: pipelines.filter((one) => one !== undefined),
    isMissing: entries.length === 0 && isMapOrBlank(node) && isMapOrBlank(written),
    isUnreadable: entries.length === 0 || pipelines.includes(undefined),
  }
}

function readPipeline(id: string, node: RawNode, findings: Findings): Pipeline | undefined {
  const path = `${PIPELINES_PATH}::${id}`
  const [signal = '', name] = id.split(/\/(.*)/s)
  if (signal === 'profiles') {
    findings.mistake(
      path,
      'Causeway takes traces, logs and metrics, not profiles; remove this pipeline and send profiles to a Collector',
    )
    return undefined
  }
  if (!isSignal(signal) || name === '') {
    const hint = didYouMean([signal], SIGNALS)
    findings.mistake(
      path,
      `"${id}" is not a pipeline; write traces, logs or metrics, or one of them with /name${hint}`,
    )
    return undefined
  }
  const reading = readSettings(pipeline, node, ['service', 'pipelines', id])
  if (reading.kind === 'faulty') for (const mistake of reading.mistakes) findings.mistakes.push(mistake)
  return {
    path,
    signal,
    receivers: listOf(childOf(node, 'receivers')),
    processors: listOf(childOf(node, 'processors')),
    exporters: listOf(childOf(node, 'exporters')),
    isFaulty: reading.kind === 'faulty',
  }
}

function isSignal(text: string): text is Signal {
  return (SIGNALS as readonly string[]).includes(text)
}

function isMapOrBlank(node: RawNode | undefined): boolean {
  return isBlank(node) || isMap(valueOf(node))
}

function listOf(node: RawNode | undefined): string[] {
  const list = isBlank(node) ? [] : TEXT_LIST.read(node)
  return list instanceof InvalidValue ? [] : list
}

/** The listeners of a component, each with the path of its keys. */
export function listenersOf(
  section: 'receivers' | 'extensions',
  { id, type, settings }: Built<ReceiverDeclaration | ExtensionDeclaration>,
): ConfiguredListener[] {
  const listeners = type.listeners?.(settings) ?? []
  return listeners.map(({ at, ...listener }) => ({
    ...listener,
    path: [section, id, ...(at === undefined ? [] : [at])].join('::'),
  }))
}
