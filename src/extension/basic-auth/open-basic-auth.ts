import { loginGuard, openBasicAuthenticator, openBasicCredentials } from '../../platform/basic-auth.ts'
import type { Authenticator, Credentials } from '../../platform/credentials.ts'
import { type CredentialsHooks, SECRET_REFRESH_MS } from '../extension-type.ts'
import type { BasicAuthSettings } from './basic-auth-extension.ts'

/** Opens the authenticator for a listener. Throws if its file is unusable. */
export function openAuthenticator(
  id: string,
  { htpasswd }: BasicAuthSettings,
  { onTrouble, guard = loginGuard() }: CredentialsHooks,
): Authenticator {
  return openBasicAuthenticator({ ...htpasswd, id, onTrouble, guard, reloadIntervalMs: SECRET_REFRESH_MS })
}

/** Opens the credentials for an exporter. Throws if their files are unusable. */
export function openCredentials(
  id: string,
  { clientAuth }: BasicAuthSettings,
  { onTrouble }: CredentialsHooks,
): Credentials {
  return openBasicCredentials({ ...clientAuth, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}
