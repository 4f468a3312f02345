import type { CausewayConfig, ComponentConfig } from '../config/causeway-config.ts'
import type { ComponentDeclaration } from '../config/component-type.ts'
import { typeNamed } from '../config/declarations.ts'
import type { Components } from './components.ts'

/** Reads every file with certificates, tokens and passwords that the configuration names. Rejects with what is wrong with one. */
export async function checkFiles(
  { receivers, exporters, extensions }: CausewayConfig,
  components: Components,
): Promise<void> {
  using opened = new DisposableStack()
  const check = async (types: readonly ComponentDeclaration[], configs: readonly ComponentConfig[]) => {
    for (const { id, type, settings } of configs)
      opened.use(await typeNamed(types, type)?.openFiles?.(id, settings))
  }
  await check(components.receivers, receivers)
  await check(components.exporters, exporters)
  await check(components.extensions, extensions)
}
