import { ConfigError } from '../config-error.ts'
import type { Findings } from '../findings.ts'
import { expandReferences } from './expand-references.ts'
import { fetchText, splitUri, type ConfigEnvironment } from './fetch-text.ts'
import { mergeTrees, splitKeys } from './merge-trees.ts'
import { isMap, kindOf, type RawMap } from './raw-node.ts'
import { readYaml } from './read-yaml.ts'
import { readSetOption } from './set-option.ts'

export interface ConfigInput extends ConfigEnvironment {
  /** The values of --config, in order. */
  readonly sources: readonly string[]
  /** The values of --set, in order; they are laid over all sources. */
  readonly sets: readonly string[]
}

/** One tree out of all sources and sets, references followed. Throws ConfigError when a source cannot be read. */
export function resolveTree(input: ConfigInput, findings: Findings): RawMap {
  if (input.sources.length === 0) {
    findings.mistake('', 'at least one config flag must be provided; write --config otel-config.yaml')
  }
  const layers = [
    ...input.sources.map((source) => readSource(source, input, findings)),
    ...input.sets.map((option) => readSetOption(option, findings)),
  ]
  if (findings.mistakes.length > 0) throw new ConfigError(findings.mistakes)
  const merged = layers.reduce<RawMap>((under, over) => mergeTrees(under, over), {})
  return expandReferences(merged, input, findings)
}

function readSource(source: string, around: ConfigEnvironment, findings: Findings): RawMap {
  const { scheme, rest } = splitUri(source, 'file')
  const name = scheme === 'yaml' ? '--config yaml:' : source
  const fetched = fetchText(scheme, rest, around)
  if (fetched.kind === 'fault') {
    findings.mistake('--config', fetched.message)
    return {}
  }
  if (fetched.kind === 'unset') {
    findings.mistake(name, 'this environment variable is not set; put the YAML in it')
    return {}
  }
  const reading = readYaml(fetched.text)
  if (reading.kind === 'faulty') {
    for (const fault of reading.faults) findings.mistake(name, fault)
    return {}
  }
  if (isMap(reading.node)) return splitKeys(reading.node)
  if (reading.node !== null) {
    findings.mistake(name, `must be a map with sections such as service, got ${kindOf(reading.node)}`)
  }
  return {}
}
