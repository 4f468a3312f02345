import { componentType } from '../../config/component-type.ts'
import {
  optionalField,
  optionalSection,
  refusedKeys,
  section,
  UNSUPPORTED_COLLECTOR_KEY,
  withoutUndefined,
} from '../../config/schema.ts'
import { SECRET_TEXT, TEXT } from '../../config/value-kinds.ts'
import type { ExtensionType } from '../extension-type.ts'

/** The users come from a file or inline text, or both. */
export interface BasicAuthSettings {
  htpasswd?: { file?: string; inline?: string }
  clientAuth?: { username?: string; usernameFile?: string; password?: string; passwordFile?: string }
}

const htpasswd = optionalSection('The users that receivers and the query API accept.', {
  file: optionalField(
    TEXT,
    'The path of a file with `user:password` lines, as `htpasswd -B` writes it. A password is a bcrypt hash or plain text, of 72 bytes at most. A change of the file applies within 5 seconds.',
  ),
  inline: optionalField(SECRET_TEXT, 'Such lines themselves. They take precedence over those of the file.'),
})

const clientAuth = optionalSection('The user and password that exporters log in with.', {
  username: optionalField(TEXT, 'The name of the user.'),
  username_file: optionalField(
    TEXT,
    'The path of a file with the name of the user, which is used instead of `username`.',
  ),
  password: optionalField(SECRET_TEXT, 'The password. `print-config` never shows it.'),
  password_file: optionalField(
    TEXT,
    'The path of a file with the password, which is used instead of `password`.',
  ),
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'aws_secrets_manager'),
})

const schema = section(
  'Checks users and passwords for receivers and the query API, or adds a user and password to the requests of exporters.',
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
)

const load = () => import('./open-basic-auth.ts')

export const basicAuthExtension: ExtensionType<BasicAuthSettings> = {
  ...componentType({
    name: 'basicauth',
    schema,
    build: ({ htpasswd: kept, client_auth: login }): BasicAuthSettings =>
      withoutUndefined({
        htpasswd: kept && withoutUndefined({ file: kept.file, inline: kept.inline }),
        clientAuth:
          login &&
          withoutUndefined({
            username: login.username,
            usernameFile: login.username_file,
            password: login.password,
            passwordFile: login.password_file,
          }),
      }),
  }),
  isPlural: true,
  insteadFor: ({ htpasswd: kept, clientAuth: login }, user) => {
    if (user === 'listener')
      return kept === undefined ? 'a basicauth with htpasswd, which knows users' : undefined
    return login === undefined ? 'a basicauth with client_auth, which logs in' : undefined
  },
  async openFiles(id, settings) {
    const { openAuthenticator, openCredentials } = await load()
    const open = settings.clientAuth === undefined ? openAuthenticator : openCredentials
    return open(id, settings, { onTrouble: () => undefined })
  },
  loadCredentials: load,
}
