import {
  type Authenticator,
  type Credentials,
  openBearerAuthenticator,
  openBearerCredentials,
} from '../../platform/credentials.ts'
import { type CredentialsHooks, SECRET_REFRESH_MS } from '../extension-type.ts'
import type { BearerTokenSettings } from './bearer-token-auth-extension.ts'

/** Opens it for a listener. Throws what is wrong with its file. */
export function openAuthenticator(
  id: string,
  settings: BearerTokenSettings,
  { onTrouble }: CredentialsHooks,
): Authenticator {
  return openBearerAuthenticator({ ...settings, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}

/** Opens what an exporter shows to its backend. Throws what is wrong with its file. */
export function openCredentials(
  id: string,
  settings: BearerTokenSettings,
  { onTrouble }: CredentialsHooks,
): Credentials {
  return openBearerCredentials({ ...settings, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}
