import type { Components } from '../app/components.ts'
import type { CausewayConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/component-type.ts'

export type FindingState = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly state: FindingState
  /** What was checked, in one or two words. */
  readonly check: string
  readonly message: string
  /** What to do; absent if everything is well. */
  readonly advice?: string
}

export const ok = (check: string, message: string): Finding => ({ state: 'ok', check, message })

export const warn = (check: string, message: string, advice: string): Finding => ({
  state: 'warn',
  check,
  message,
  advice,
})

export const fail = (check: string, message: string, advice: string): Finding => ({
  state: 'fail',
  check,
  message,
  advice,
})

const CHECK = 'clusters'

/** Checks that receivers can read their sources. */
export async function* checkReceivers(
  { receivers }: CausewayConfig,
  components: Components,
): AsyncGenerator<Finding> {
  for (const { id, type, settings } of receivers) {
    const declared = typeNamed(components.receivers, type)
    if (declared?.examine === undefined) continue
    for await (const examined of declared.examine(id, settings)) yield { check: CHECK, ...examined }
  }
}
