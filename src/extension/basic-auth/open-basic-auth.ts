import type { Authenticator, Credentials } from '../../trust/authenticator.ts'
import { acceptLogins, loginGuard, showLogin } from '../../trust/basic-logins.ts'
import { SECRET_REFRESH_MS, type CredentialsHooks } from '../extension-type.ts'
import type { BasicAuthSettings } from './basic-auth-extension.ts'

/** Opens it for a listener. Throws what is wrong with its file. */
export function openAuthenticator(
  id: string,
  { htpasswd }: BasicAuthSettings,
  { onTrouble, guard = loginGuard() }: CredentialsHooks,
): Authenticator {
  return acceptLogins({ ...htpasswd, id, onTrouble, guard, reloadIntervalMs: SECRET_REFRESH_MS })
}

/** Opens what an exporter logs in with. Throws what is wrong with its files. */
export function openCredentials(
  id: string,
  { clientAuth }: BasicAuthSettings,
  { onTrouble }: CredentialsHooks,
): Credentials {
  return showLogin({ ...clientAuth, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}
