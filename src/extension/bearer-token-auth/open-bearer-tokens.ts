import {
  type Authenticator,
  type Credentials,
  openBearerAuthenticator,
  openBearerCredentials,
} from '../../platform/credentials.ts'
import { type CredentialsHooks, SECRET_REFRESH_MS } from '../extension-type.ts'
import type { BearerTokenSettings } from './bearer-token-auth-extension.ts'

/** Opens the authenticator for a listener. Throws if its file is unusable. */
export function openAuthenticator(
  id: string,
  settings: BearerTokenSettings,
  { onTrouble }: CredentialsHooks,
): Authenticator {
  return openBearerAuthenticator({ ...settings, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}

/** Opens the credentials for an exporter. Throws if their file is unusable. */
export function openCredentials(
  id: string,
  settings: BearerTokenSettings,
  { onTrouble }: CredentialsHooks,
): Credentials {
  return openBearerCredentials({ ...settings, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}
