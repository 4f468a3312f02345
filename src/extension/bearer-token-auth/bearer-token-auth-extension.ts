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
  'A bearer token: what receivers and the query API let in, or what exporters show.',
  {
    header: field(TEXT, 'Authorization', 'The header that carries the token.'),
    scheme: field(MAYBE_EMPTY, 'Bearer', 'Stands before the token; `""` for a token that stands alone.'),
    token: optionalField(SECRET_WORD, 'The token. Never shown by `print-config`.'),
    tokens: optionalField(SECRET_LIST, 'Several tokens, each of which is let in; exporters show the first.'),
    filename: optionalField(
      TEXT,
      'File with a token in each line, used instead of `token`. A change of it counts within 5 seconds.',
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
