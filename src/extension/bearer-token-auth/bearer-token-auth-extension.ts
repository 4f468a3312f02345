import { componentType } from '../../config/component-type.ts'
import {
  field,
  invalid,
  optionalField,
  section,
  type ValueKind,
  withoutUndefined,
} from '../../config/schema.ts'
import { SECRET_LIST, SECRET_WORD, TEXT } from '../../config/value-kinds.ts'
import { textOf } from '../../config/yaml-tree.ts'
import type { ExtensionType } from '../extension-type.ts'

export interface BearerTokenSettings {
  header: string
  /** The scheme before the token; may be empty. */
  scheme: string
  tokens: string[]
  /** A file with one token per line, used instead of `tokens`. */
  filename?: string
}

/** Text that may be empty. */
const MAYBE_EMPTY: ValueKind<string> = {
  type: 'text',
  textual: true,
  read: (node) => textOf(node) ?? invalid('must be text'),
}

const schema = section(
  'Checks bearer tokens for receivers and the query API, or adds a token to the requests of exporters.',
  {
    header: field(TEXT, 'Authorization', 'The name of the header that carries the token.'),
    scheme: field(
      MAYBE_EMPTY,
      'Bearer',
      'The word before the token in that header. `""` means that the header has the token alone.',
    ),
    token: optionalField(SECRET_WORD, 'The token. `print-config` never shows it.'),
    tokens: optionalField(
      SECRET_LIST,
      'Several tokens. Receivers and the query API accept each of them, and exporters send the first.',
    ),
    filename: optionalField(
      TEXT,
      'The path of a file with one token in each line, which is used instead of `token`. A change of the file applies within 5 seconds.',
    ),
  },
  [
    ({ token, tokens, filename }) =>
      (token ?? tokens ?? filename) === undefined
        ? { key: 'token', message: 'no token is given; write token: ${env:TOKEN}, or filename' }
        : undefined,
    ({ token, tokens }) =>
      token !== undefined && tokens !== undefined
        ? { key: 'tokens', message: 'either token or tokens should be specified, not both' }
        : undefined,
  ],
)

const load = () => import('./open-bearer-tokens.ts')

export const bearerTokenAuthExtension: ExtensionType<BearerTokenSettings> = {
  ...componentType({
    name: 'bearertokenauth',
    schema,
    build: ({ header, scheme, token, tokens, filename }): BearerTokenSettings => ({
      header,
      scheme,
      tokens: token === undefined ? (tokens ?? []) : [token],
      ...withoutUndefined({ filename }),
    }),
  }),
  isPlural: true,
  insteadFor: () => undefined,
  async openFiles(id, settings) {
    const { openAuthenticator } = await load()
    return openAuthenticator(id, settings, { onTrouble: () => undefined })
  },
  loadCredentials: load,
}
