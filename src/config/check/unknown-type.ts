import { ownValue } from '../../model/own-value.ts'
import type { ComponentSection } from '../declarations.ts'
import { didYouMean } from '../schema/did-you-mean.ts'

const NO_PROCESSORS =
  'Causeway has no processors; run it in a Collector in front of Causeway and remove it here'

/** What to say of a component whose type does not exist, and what to write instead. */
export function describeUnknownType(
  section: ComponentSection,
  id: string,
  type: string,
  { known, instead }: { known: readonly string[]; instead: Readonly<Record<string, string>> },
): string {
  const advice = ownValue(instead, type) ?? (section === 'processors' ? NO_PROCESSORS : undefined)
  const hint = advice === undefined ? didYouMean([type], known) : `; ${advice}`
  return `unknown type: "${type}" for id: "${id}" (valid values: [${known.join(' ')}])${hint}`
}
