import type { Components } from '../../app/components.ts'
import type { CausewayConfig } from '../../config/causeway-config.ts'
import { typeNamed } from '../../config/declarations.ts'
import type { Finding } from './finding.ts'

const CHECK = 'clusters'

/** Whether what receivers go and ask lets itself be asked. */
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
