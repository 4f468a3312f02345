import type { CausewayConfig, ComponentConfig } from '../config/causeway-config.ts'
import { type ComponentDeclaration, typeNamed } from '../config/component-type.ts'
import { errorText } from '../model/faults.ts'
import type { Components } from './components.ts'

interface FileFault {
  /** What is wrong and what to do, with the component that names the file. */
  readonly reason: string
  /** Such as a certificate that has expired, which nobody takes. */
  readonly isUsable: boolean
}

/** Reads every certificate, token and password file that the configuration names, and yields what is wrong with them. */
export async function* faultsOfFiles(
  { receivers, exporters, extensions }: CausewayConfig,
  components: Components,
): AsyncGenerator<FileFault> {
  yield* faultsOf(components.receivers, receivers)
  yield* faultsOf(components.exporters, exporters, 'exporter ')
  yield* faultsOf(components.extensions, extensions)
}

/** `owner` stands before the id where components do not name themselves. */
async function* faultsOf(
  types: readonly ComponentDeclaration[],
  configs: readonly ComponentConfig[],
  owner?: string,
): AsyncGenerator<FileFault> {
  for (const { id, type, settings } of configs) {
    const faults: FileFault[] = []
    const add = (reason: string, isUsable: boolean): void =>
      void faults.push({ reason: owner === undefined ? reason : `${owner}${id} ${reason}`, isUsable })
    try {
      const opened = await typeNamed(types, type)?.openFiles?.(id, settings, (reason) => add(reason, true))
      opened?.[Symbol.dispose]()
    } catch (error) {
      add(errorText(error), false)
    }
    yield* faults
  }
}
