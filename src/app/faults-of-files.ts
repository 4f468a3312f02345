import type { CausewayConfig, ComponentConfig } from '../config/causeway-config.ts'
import { type ComponentDeclaration, typeNamed } from '../config/component-type.ts'
import { errorText } from '../model/faults.ts'
import type { Components } from './components.ts'

interface FileFault {
  /** What is wrong and what to do, including which component names the file. */
  readonly reason: string
  /** Whether the file can be used nevertheless; an expired certificate can be, although peers will refuse it. */
  readonly isUsable: boolean
}

/** Reads all certificate, token and password files in the configuration, and yields their faults. */
export async function* faultsOfFiles(
  { receivers, exporters, extensions }: CausewayConfig,
  components: Components,
): AsyncGenerator<FileFault> {
  yield* faultsOf(components.receivers, receivers)
  yield* faultsOf(components.exporters, exporters, 'exporter ')
  yield* faultsOf(components.extensions, extensions)
}

/** `owner` precedes the id if the faults do not name the component themselves. */
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
