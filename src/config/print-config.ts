import { stringify } from 'yaml'
import type { Declarations } from './declarations.ts'
import { effectiveTree } from './effective-tree.ts'
import type { RawMap } from './tree/raw-node.ts'

/** The configuration as YAML with every default written out and secrets blacked out. */
export function printConfig(raw: RawMap, declarations: Declarations): string {
  return stringify(effectiveTree(raw, declarations), { lineWidth: 0, aliasDuplicateObjects: false })
}
