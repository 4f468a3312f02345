import type { ConfiguredListener } from './causeway-config.ts'
import type { Built } from './check/read-components.ts'
import type { ExtensionDeclaration, ReceiverDeclaration } from './component-type.ts'

/** The addresses that a component takes, each with where its keys stand. */
export function listenersOf(
  section: 'receivers' | 'extensions',
  { id, type, settings }: Built<ReceiverDeclaration | ExtensionDeclaration>,
): ConfiguredListener[] {
  const listeners = type.listeners?.(settings) ?? []
  return listeners.map(({ at, ...listener }) => ({
    ...listener,
    path: [section, id, ...(at === undefined ? [] : [at])].join('::'),
  }))
}
