import { ownValue } from '../own-value.ts'
/** Kinds whose resource no rule gives. */
const IRREGULAR: Readonly<Record<string, string>> = { Endpoints: 'endpoints' }

/**
 * The resource that objects of a kind are served as, such as `networkpolicies` for NetworkPolicy: the English plural in
 * lower case, which is a guess for kinds that Kubernetes does not bring along.
 */
export function resourceOfKind(kind: string): string {
  const irregular = ownValue(IRREGULAR, kind)
  if (irregular !== undefined) return irregular
  const singular = kind.toLowerCase()
  if (/(?:s|x|z|ch|sh)$/.test(singular)) return `${singular}es`
  if (/[^aeiou]y$/.test(singular)) return `${singular.slice(0, -1)}ies`
  return `${singular}s`
}
