import type { Authenticator, Credentials } from '../../trust/authenticator.ts'
import { acceptBearerTokens, showBearerToken } from '../../trust/bearer-tokens.ts'
import { SECRET_REFRESH_MS, type CredentialsHooks } from '../extension-type.ts'
import type { BearerTokenSettings } from './bearer-token-auth-extension.ts'

/** Opens it for a listener. Throws what is wrong with its file. */
export function openAuthenticator(
  id: string,
  settings: BearerTokenSettings,
  { onTrouble }: CredentialsHooks,
): Authenticator {
  return acceptBearerTokens({ ...settings, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}

/** Opens what an exporter shows to its backend. Throws what is wrong with its file. */
export function openCredentials(
  id: string,
  settings: BearerTokenSettings,
  { onTrouble }: CredentialsHooks,
): Credentials {
  return showBearerToken({ ...settings, id, onTrouble, reloadIntervalMs: SECRET_REFRESH_MS })
}
