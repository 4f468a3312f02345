import type { SentSignal } from '../../model/ingest.ts'
import { typeNamed, type Declarations } from '../declarations.ts'
import { pipeline, service } from '../service/service.ts'
import type { Findings } from '../findings.ts'
import { didYouMean } from '../schema/did-you-mean.ts'
import { InvalidValue } from '../schema/field.ts'
import { readSettings } from '../schema/read-settings.ts'
import { TEXT_LIST } from '../schema/scalar-kinds.ts'
import { childOf, isBlank, isMap, mapOf, valueOf, type RawMap, type RawNode } from '../tree/raw-node.ts'

export interface Pipeline {
  readonly path: string
  readonly signal: SentSignal
  readonly receivers: readonly string[]
  readonly processors: readonly string[]
  readonly exporters: readonly string[]
  /** Has a mistake of its own, so nothing can be said of what is missing. */
  readonly isFaulty: boolean
}

export interface ServiceLists {
  readonly extensions: readonly string[]
  readonly pipelines: readonly Pipeline[]
  /** No pipeline is written at all. */
  readonly isMissing: boolean
  /** Something unreadable stands where a pipeline or all of them should be. */
  readonly isUnreadable: boolean
}

const PIPELINES_PATH = 'service::pipelines'
const SIGNALS: readonly SentSignal[] = ['traces', 'logs', 'metrics']

/** Reads the service section; lists in it are used even where other parts of it are faulty. */
export function readService(tree: RawMap, declarations: Declarations, findings: Findings): ServiceLists {
  const node = tree['service']
  const reading = readSettings(service, node, ['service'])
  if (reading.kind === 'faulty')
    for (const { path, message } of reading.mistakes) findings.mistake(path, message)
  const written = childOf(node, 'pipelines')
  const entries = Object.entries(mapOf(written))
  const pipelines = entries.map(([id, settings]) => readPipeline(id, settings, declarations, findings))
  return {
    extensions: listOf(childOf(node, 'extensions')),
    pipelines: pipelines.filter((one) => one !== undefined),
    isMissing: entries.length === 0 && isMapOrBlank(node) && isMapOrBlank(written),
    isUnreadable: entries.length === 0 || pipelines.includes(undefined),
  }
}

function readPipeline(
  id: string,
  node: RawNode,
  declarations: Declarations,
  findings: Findings,
): Pipeline | undefined {
  const path = `${PIPELINES_PATH}::${id}`
  const [signal = '', name] = id.split(/\/(.*)/s)
  if (signal === 'profiles' || (signal === 'metrics' && !isFedByConnector(node, declarations))) {
    findings.mistake(
      path,
      `Causeway takes traces and logs, not ${signal}; remove this pipeline and send ${signal} to a Collector`,
    )
    return undefined
  }
  if (!isSignal(signal) || name === '') {
    const hint = didYouMean([signal], ['traces', 'logs'])
    findings.mistake(
      path,
      `"${id}" is not a pipeline; write traces or logs, or traces/name or logs/name${hint}`,
    )
    return undefined
  }
  const reading = readSettings(pipeline, node, ['service', 'pipelines', id])
  if (reading.kind === 'faulty')
    for (const { path, message } of reading.mistakes) findings.mistake(path, message)
  return {
    path,
    signal,
    receivers: listOf(childOf(node, 'receivers')),
    processors: listOf(childOf(node, 'processors')),
    exporters: listOf(childOf(node, 'exporters')),
    isFaulty: reading.kind === 'faulty',
  }
}

/** Only the connector makes metrics. */
function isFedByConnector(node: RawNode, { connectors }: Declarations): boolean {
  const receivers = listOf(childOf(node, 'receivers'))
  return (
    receivers.length > 0 &&
    receivers.every((id) => typeNamed(connectors, id.split('/', 1).join()) !== undefined)
  )
}

function isSignal(text: string): text is SentSignal {
  return (SIGNALS as readonly string[]).includes(text)
}

function isMapOrBlank(node: RawNode | undefined): boolean {
  return isBlank(node) || isMap(valueOf(node))
}

function listOf(node: RawNode | undefined): string[] {
  const list = isBlank(node) ? [] : TEXT_LIST.read(node)
  return list instanceof InvalidValue ? [] : list
}
