import type { AuthenticatorConfig } from '../causeway-config.ts'
import { field, NOT_HERE, optionalField, refuse, refusedKeys, type ValueKind } from '../schema/field.ts'
import { SECRET_LIST, SECRET_TEXT, SECRET_WORD, TEXT } from '../schema/scalar-kinds.ts'
import { optionalSection, section } from '../schema/section.ts'
import { textOf } from '../tree/raw-node.ts'
import { componentType } from './component-type.ts'
import { present } from './present.ts'

/** Text that may also be nothing at all. */
const MAYBE_EMPTY: ValueKind<string> = {
  type: 'text',
  textual: true,
  read: (node) => textOf(node) ?? refuse('must be text'),
}

export const bearerTokenAuth = componentType(
  section(
    'A bearer token: what receivers and the query API let in, or what exporters show.',
    {
      header: field(TEXT, 'Authorization', 'The header that carries the token.'),
      scheme: field(MAYBE_EMPTY, 'Bearer', 'Stands before the token; `""` for a token that stands alone.'),
      token: optionalField(SECRET_WORD, 'The token. Never shown by `print-config`.'),
      tokens: optionalField(
        SECRET_LIST,
        'Several tokens, each of which is let in; exporters show the first.',
      ),
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
  ),
  (id, { header, scheme, token, tokens, filename }): AuthenticatorConfig => ({
    kind: 'bearertokenauth',
    id,
    header,
    scheme,
    tokens: token === undefined ? (tokens ?? []) : [token],
    ...present({ filename }),
  }),
)

const htpasswd = optionalSection('Whom receivers and the query API let in.', {
  file: optionalField(
    TEXT,
    'File with `user:password` lines, as `htpasswd -B` writes it: bcrypt, or plain text, of 72 bytes at most. A change of it counts within 5 ' +
      'seconds.',
  ),
  inline: optionalField(SECRET_TEXT, 'Such lines themselves; they count before those of the file.'),
})

const clientAuth = optionalSection('What exporters log in with.', {
  username: optionalField(TEXT, 'The user.'),
  username_file: optionalField(TEXT, 'File with the user, used instead of `username`.'),
  password: optionalField(SECRET_TEXT, 'The password. Never shown by `print-config`.'),
  password_file: optionalField(TEXT, 'File with the password, used instead of `password`.'),
  ...refusedKeys(NOT_HERE, 'aws_secrets_manager'),
})

export const basicAuth = componentType(
  section(
    'User and password: whom receivers and the query API let in, or what exporters log in with.',
    { htpasswd, client_auth: clientAuth },
    [
      (settings) =>
        settings.htpasswd !== undefined && settings.client_auth !== undefined
          ? { key: 'client_auth', message: 'either htpasswd or client_auth, not both; write two basicauth' }
          : undefined,
      ({ htpasswd: kept, client_auth }) =>
        (kept?.file ?? kept?.inline ?? client_auth) === undefined
          ? { key: 'htpasswd', message: 'no credential source provided; write htpasswd: { file: … }' }
          : undefined,
      ({ client_auth: login }) =>
        login !== undefined && (login.username ?? login.username_file) === undefined
          ? { key: 'client_auth', message: 'needs a username or a username_file' }
          : undefined,
      ({ client_auth: login }) =>
        login?.username?.includes(':') === true
          ? { key: 'client_auth', message: 'username must hold no colon' }
          : undefined,
    ],
  ),
  (id, { htpasswd: kept, client_auth: login }): AuthenticatorConfig => ({
    kind: 'basicauth',
    id,
    ...present({
      htpasswd: kept && present({ file: kept.file, inline: kept.inline }),
      clientAuth:
        login &&
        present({
          username: login.username,
          usernameFile: login.username_file,
          password: login.password,
          passwordFile: login.password_file,
        }),
    }),
  }),
)
