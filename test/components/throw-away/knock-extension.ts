import { componentType } from '../../../src/config/component-type.ts'
import { requiredField, section } from '../../../src/config/schema.ts'
import { SECRET_WORD } from '../../../src/config/value-kinds.ts'
import type { ExtensionType } from '../../../src/extension/extension-type.ts'

export interface KnockSettings {
  word: string
}

/** Lets in whoever says the word, and serves listeners alone. */
export const knockExtension: ExtensionType<KnockSettings> = {
  ...componentType({
    name: 'knock',
    schema: section('Lets in whoever says the word.', {
      word: requiredField(SECRET_WORD, 'word: ${env:WORD}', 'What to say.'),
    }),
    build: ({ word }): KnockSettings => ({ word }),
  }),
  insteadFor: (_settings, user) => (user === 'listener' ? undefined : 'a bearertokenauth'),
  loadCredentials: () => import('./open-knock.ts'),
}
