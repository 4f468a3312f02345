import { loginGuard, openBasicAuthenticator, openBasicCredentials } from '../../platform/basic-auth.ts'
import type { Authenticator, Credentials } from '../../platform/credentials.ts'
import { type CredentialsHooks, SECRET_REFRESH_MS } from '../extension-type.ts'
import type { BasicAuthSettings } from './basic-auth-extension.ts'

/** Opens it for a listener. Throws what is wrong with its file. */
export function openAuthenticator(
  id: string,
  { htpasswd }: BasicAuthSettings,
  { onTrouble, guard = loginGuard() }: CredentialsHooks,
): Authenticator {
  return openBasicAuthenticator({ ...htpasswd, id, onTrouble, guard, reloadIntervalMs: SECRET_REFRESH_MS })
}

/** Opens what an exporter logs in with. Throws what is wrong with its files. */
export function openCredentials(
  id: string,
  { clientAuth }: BasicAuthSettings,
  { onTrouble }: CredentialsHooks,
): Credentials {
  return openBasicCredentials({ ...clientAuth, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}
