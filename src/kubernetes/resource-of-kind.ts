import { ownValue } from '../model/own-value.ts'

/** Plurals that the rules below do not give. */
const IRREGULAR: Readonly<Record<string, string>> = {
  Endpoints: 'endpoints',
  PodMetrics: 'pods',
  NodeMetrics: 'nodes',
}

/**
 * The resource of a kind, by the rules that Kubernetes' own code guesses with (meta.UnsafeGuessKindToResource), for
 * recordings, which name kinds alone. A live cluster is asked.
 */
export function resourceOfKind(kind: string): string {
  const irregular = ownValue(IRREGULAR, kind)
  if (irregular !== undefined) return irregular
  const lower = kind.toLowerCase()
  if (lower.endsWith('s')) return `${lower}es`
  return lower.endsWith('y') && !/[aeiou]y$/.test(lower) ? `${lower.slice(0, -1)}ies` : `${lower}s`
}
