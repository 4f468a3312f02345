import { stringify } from 'yaml'
import { effectiveTree } from './effective-tree.ts'
import type { RawMap } from './tree/raw-node.ts'

/** The configuration as YAML with every default written out and secrets blacked out. */
export function printConfig(raw: RawMap): string {
  return stringify(effectiveTree(raw), { lineWidth: 0, aliasDuplicateObjects: false })
}
