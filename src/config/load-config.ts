import { buildConfig } from './build-config.ts'
import type { CausewayConfig } from './causeway-config.ts'
import { checkAuthenticators } from './check/check-authenticators.ts'
import { checkConnectors } from './check/check-connectors.ts'
import { checkSignals } from './check/check-signals.ts'
import { checkExtensions } from './check/check-extensions.ts'
import { checkListeners } from './check/check-listeners.ts'
import { checkReferences } from './check/check-references.ts'
import { warnOfExposure } from './check/warn-of-exposure.ts'
import { isEmpty, readSections } from './check/read-sections.ts'
import type { Declarations } from './declarations.ts'
import { ConfigError } from './config-error.ts'
import { Findings } from './findings.ts'
import type { RawMap } from './tree/raw-node.ts'
import { resolveTree, type ConfigInput } from './tree/resolve-tree.ts'

export interface LoadedConfig {
  config: CausewayConfig
  /** As written, merged and with references followed; what print-config starts from. */
  raw: RawMap
  warnings: string[]
}

/** Reads, merges and checks a configuration. Throws ConfigError with every mistake in it. */
export function loadConfig(input: ConfigInput, declarations: Declarations): LoadedConfig {
  const findings = new Findings()
  const raw = resolveTree(input, findings)
  const sections = readSections(raw, declarations, findings)
  if (isEmpty(sections)) throw new ConfigError([{ path: '', message: EMPTY }, ...findings.mistakes])
  checkReferences(sections, findings)
  checkConnectors(sections, findings)
  checkSignals(sections, findings)
  checkExtensions(sections, findings)
  checkListeners(sections, findings)
  checkAuthenticators(sections, findings)
  if (findings.mistakes.length > 0) throw new ConfigError(findings.mistakes)
  const config = buildConfig(sections)
  warnOfExposure(config, findings)
  return { config, raw, warnings: findings.warnings }
}

const EMPTY = 'empty configuration file; begin with the otel-config.yaml that comes with Causeway'
