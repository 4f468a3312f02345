import type { Findings } from '../findings.ts'
import { splitKeys } from './merge-trees.ts'
import type { RawMap } from './raw-node.ts'
import { readYaml } from './read-yaml.ts'

/** The tree that `--set a.b=c` lays over the configuration; the value is YAML. */
export function readSetOption(option: string, findings: Findings): RawMap {
  const equals = option.indexOf('=')
  const key = option.slice(0, Math.max(0, equals)).trim()
  if (equals < 0) {
    findings.mistake(`--set ${option}`, 'missing equal sign; write --set a.b=c')
  } else if (key === '') {
    findings.mistake('--set', 'missing key before the equal sign; write --set a.b=c')
  }
  const reading = readYaml(option.slice(equals + 1).trim())
  if (reading.kind === 'read')
    return splitKeys(Object.fromEntries([[key.replaceAll('.', '::'), reading.node]]))
  // The value may be a secret, so only the key is named.
  for (const fault of reading.faults) findings.mistake(`--set ${key}`, fault)
  return {}
}
